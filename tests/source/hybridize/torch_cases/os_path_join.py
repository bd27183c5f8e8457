# breaks: none
# says: to_graph safe

import os

import torch


def f(x):
    p = os.path.join("a", "b")
    return x + len(p)


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
