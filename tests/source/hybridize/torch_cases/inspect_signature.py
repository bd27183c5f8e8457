# breaks: none
# says: to_graph safe-if

import inspect

import torch


def g(a, b=1):
    return a


def f(x):
    if "b" in inspect.signature(g).parameters:
        return x + 1
    return x


def args():
    return (torch.randn(4),)
