# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return max(x.sum(), 0.0)


def args():
    return (torch.randn(2),)
