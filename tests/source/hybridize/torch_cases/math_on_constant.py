# breaks: none
# says: to_graph safe

import math

import torch


def f(x):
    return x / math.sqrt(x.shape[-1])


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
