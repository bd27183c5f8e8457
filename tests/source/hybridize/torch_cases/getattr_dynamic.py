# breaks: none
# says: to_graph safe-if

import torch


def f(x, name):
    return getattr(torch, name)(x) + getattr(x, "sum")()


def args():
    return torch.randn(2), "relu"
