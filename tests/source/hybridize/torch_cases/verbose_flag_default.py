# breaks: none
# says: to_graph safe-if STR158

import torch


def f(x, verbose=False):
    y = x.cumsum(0)
    if verbose:
        print(y)
    return y


def args():
    return (torch.randn(3),)
