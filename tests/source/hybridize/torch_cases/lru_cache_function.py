# breaks: none
# says: to_graph safe-if

import functools

import torch


@functools.lru_cache(maxsize=None)
def scale(n):
    return n * 2


def f(x):
    return x * scale(3)


def args():
    return (torch.randn(4),)
