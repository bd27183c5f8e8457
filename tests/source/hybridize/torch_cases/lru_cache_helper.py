# breaks: none
# says: to_graph safe-if

from functools import cache

import torch


@cache
def table(n):
    return [i * i for i in range(n)]


def f(x):
    t = table(x.shape[0])
    return x * t[-1]


def args():
    return (torch.randn(3),)
