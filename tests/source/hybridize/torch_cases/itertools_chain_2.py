# breaks: none
# says: to_graph safe-if

import itertools

import torch


def f(xs, ys):
    total = 0
    for t in itertools.chain(xs, ys):
        total = total + t.sum()
    return total


def args():
    return [torch.randn(2)], [torch.randn(3)]
