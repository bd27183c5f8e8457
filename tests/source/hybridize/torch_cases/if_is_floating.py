# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if x.is_floating_point() and torch.is_tensor(x):
        return x * 2
    return x


def args():
    return (torch.randn(4),)
