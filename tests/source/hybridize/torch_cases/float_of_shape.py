# breaks: none
# says: to_graph safe

import torch


def f(x):
    return x * float(x.shape[0]) * int(2.7)


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
