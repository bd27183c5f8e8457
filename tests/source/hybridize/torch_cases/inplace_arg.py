# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    x += 1
    x.clamp_(min=0)
    return x.sum()


def args():
    return (torch.randn(2, 4),)
