# breaks: Failed to trace builtin operator
# says: keep unsafe STR159

import torch


def f(x):
    exec("y = 1")
    return x + 1


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
