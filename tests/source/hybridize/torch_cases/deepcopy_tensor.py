# breaks: Attempted to copy.deepcopy a tensor
# says: keep unsafe STR159

import copy

import torch


def f(x):
    y = copy.deepcopy(x)
    return y + 1


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
