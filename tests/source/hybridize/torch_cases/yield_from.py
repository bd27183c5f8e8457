# breaks: none
# says: to_graph safe-if

import torch


def g(x):
    yield from [x, x + 1]


def f(x):
    return sum(g(x))


def args():
    return (torch.rand(3),)
