# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    y = x.exp()
    assert torch.isfinite(y).all(), "not finite"
    return y


def args():
    return (torch.randn(3),)
