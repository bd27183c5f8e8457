# breaks: none
# says: to_graph safe-if

import torch


def f(a, b):
    n = min(a.shape[0], b.shape[0])
    return a[:n] + b[:n]


def args():
    return torch.randn(3), torch.randn(4)
