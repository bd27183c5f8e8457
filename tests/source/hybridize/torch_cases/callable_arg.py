# breaks: none
# says: to_graph safe-if

import torch


def apply(fn, x):
    return fn(x) + 1


def f(x):
    return apply(torch.sin, x) * apply(lambda t: t.cos(), x)


def args():
    return (torch.randn(2, 3),)
