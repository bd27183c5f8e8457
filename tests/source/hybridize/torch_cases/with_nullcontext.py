# breaks: none
# says: to_graph safe

import contextlib

import torch


def f(x):
    with contextlib.nullcontext():
        return x * 2


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
