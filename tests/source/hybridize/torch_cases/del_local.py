# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    y = x * 2
    z = y + 1
    del y
    return z


def args():
    return (torch.rand(3),)
