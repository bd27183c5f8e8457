# breaks: none
# says: to_graph safe-if

import itertools

import torch


def f(x):
    out = x.new_zeros(())
    for i, j in itertools.product(range(2), range(3)):
        out = out + x[i, j]
    return out


def args():
    return (torch.randn(2, 3),)
