# breaks: none
# says: to_graph safe-if

import torch


def f(xs):
    it = iter(xs)
    total = next(it)
    for x in it:
        total = total + x
    return total


def args():
    return ([torch.randn(2), torch.randn(2)],)
