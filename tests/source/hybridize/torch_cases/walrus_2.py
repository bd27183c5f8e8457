# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if (n := x.shape[0]) > 2:
        x = x[:2]
    return x * n


def args():
    return (torch.randn(3, 2),)
