# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    y = x + 1
    y.tag = 3
    return y * y.tag


def args():
    return (torch.rand(3),)
