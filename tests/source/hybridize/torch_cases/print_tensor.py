# breaks: Failed to trace builtin operator
# says: keep unsafe STR158

import torch


def f(x):
    y = x * 2
    print(y)
    return y + 1


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
