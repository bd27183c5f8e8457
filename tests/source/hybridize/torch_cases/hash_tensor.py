# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    h = hash(x)
    return x + 1


def args():
    return (torch.randn(2),)
