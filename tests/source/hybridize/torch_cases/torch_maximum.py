# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return torch.maximum(x.mean(), x.median()) * 2


def args():
    return (torch.randn(5),)
