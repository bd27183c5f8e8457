# breaks: none
# says: to_graph safe-if

import functools

import torch


def f(x):
    g = functools.partial(torch.add, other=2)
    return functools.reduce(lambda a, b: a + b, [g(x), x])


def args():
    return (torch.randn(4),)
