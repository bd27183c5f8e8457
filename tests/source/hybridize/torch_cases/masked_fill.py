# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return x.masked_fill(x < 0, 0.0)


def args():
    return (torch.randn(4),)
