# breaks: Skip calling `torch.compiler.disable()`d function
# says: keep unsafe STR169

import torch


@torch.compiler.disable
def slow(x):
    return x.sort().values


def f(x):
    return slow(x) + 1


def args():
    return (torch.randn(3),)
