# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return torch.histogram(x, 4)[0]


def args():
    return (torch.randn(3),)
