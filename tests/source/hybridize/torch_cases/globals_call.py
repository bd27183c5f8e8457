# breaks: Failed to trace builtin operator
# says: keep unsafe STR159

import torch

scale = 2


def f(x):
    return x + globals()["scale"]


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
