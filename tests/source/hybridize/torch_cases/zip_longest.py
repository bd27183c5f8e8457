# breaks: none
# says: to_graph safe-if

import itertools

import torch


def f(xs, ys):
    return sum(a if b is None else a + b for a, b in itertools.zip_longest(xs, ys))


def args():
    return ([torch.ones(1), torch.ones(1)], [torch.ones(1)])
