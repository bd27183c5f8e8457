# breaks: Failed to trace builtin operator
# says: keep unsafe STR158

import torch


def helper(x):
    print("in helper")
    return x * 2


def f(x):
    return helper(x) + 1


def args():
    return (torch.randn(2),)


if __name__ == "__main__":
    f(*args())
