# breaks: none
# says: to_graph safe-if

import itertools

import torch


def f(x):
    for i, j in itertools.product([1, 2], [3]):
        x = x * i + j
    for i in itertools.chain([1], [2]):
        x = x + i
    return x


def args():
    return (torch.randn(4),)
