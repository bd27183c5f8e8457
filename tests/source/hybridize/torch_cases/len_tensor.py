# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    n = len(x)
    return x.sum(0) / n


def args():
    return (torch.randn(2, 4),)
