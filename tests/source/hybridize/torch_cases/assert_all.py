# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    assert (x > -100).all()
    return x * 2


def args():
    return (torch.randn(2, 4),)
