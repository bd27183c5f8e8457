# breaks: none
# says: to_graph safe-if STR158

import warnings

import torch


def f(x):
    if x.shape[0] > 100:
        warnings.warn("large")
    return x + 1


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
