# breaks: none
# says: to_graph safe-if

from contextlib import nullcontext

import torch


def f(x, train=True):
    ctx = nullcontext() if train else torch.no_grad()
    with ctx:
        return x.exp()


def args():
    return (torch.randn(4),)
