# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if torch.is_grad_enabled():
        return x * 2
    return x


def args():
    return (torch.randn(4),)
