# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t - 1, (x,))


def args():
    return (torch.randn(2),)
