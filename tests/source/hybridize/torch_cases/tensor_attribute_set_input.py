# breaks: none
# says: to_graph safe

import torch


def f(x):
    x.tag = 3
    return x * 2


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
