# breaks: none
# says: to_graph safe-if

import torch


def f(x, dims=(0, 1)):
    rest = set(range(x.dim())) - set(dims)
    return x.sum(tuple(sorted(rest)))


def args():
    return (torch.randn(2, 3, 4),)
