# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    s = str(x.shape)
    n = len(s)
    return x * n


def args():
    return (torch.randn(3),)
