# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    y = x.clone()
    y[y < 0] = 0
    return y


def args():
    return (torch.randn(5),)
