# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    s = frozenset([1, 2])
    return x[slice(0, 1)] + len(s) + tuple([1])[0] + list((1,))[0]


def args():
    return (torch.randn(2),)
