# breaks: none
# says: to_graph safe-if

import torch


def f(x, k=None):
    k = k or 3
    return x * k


def args():
    return torch.rand(3), None
