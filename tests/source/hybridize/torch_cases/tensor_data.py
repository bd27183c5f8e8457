# breaks: none
# says: to_graph safe

import torch


def f(x):
    return x.data * 2


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
