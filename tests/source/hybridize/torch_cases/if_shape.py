# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if x.shape[0] > 2:
        return x[:2]
    return x


def args():
    return (torch.randn(4),)
