# breaks: none
# says: to_graph safe-if

import torch


def f(w):
    if w.grad is not None:
        return w.grad * 2
    return w * 2


def args():
    return (torch.randn(4, requires_grad=True),)
