# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return x.numpy().sum()


def args():
    return (torch.randn(4),)
