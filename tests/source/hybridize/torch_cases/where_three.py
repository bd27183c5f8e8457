# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return torch.where(x > 0, x, -x)


def args():
    return (torch.randn(4),)
