# breaks: none
# says: to_graph safe

import torch


def power(x, n):
    if n == 0:
        return torch.ones_like(x)
    return x * power(x, n - 1)


def f(x):
    return power(x, 3)


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
