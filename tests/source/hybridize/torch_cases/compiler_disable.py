# breaks: Skip calling `torch.compiler.disable()`d function
# says: keep unsafe STR169

import torch


@torch.compiler.disable
def g(x):
    return x * 2


def f(x):
    return g(x) + 1


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
