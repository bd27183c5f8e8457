# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    order = sorted([3, 1, 2], key=lambda v: -v, reverse=True)
    return x * order[0]


def args():
    return (torch.randn(4),)
