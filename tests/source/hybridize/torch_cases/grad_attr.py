# breaks: none
# says: to_graph safe-if

import torch

w = torch.ones(2, requires_grad=True)
w.grad = torch.ones(2)


def f(x):
    return x + w.grad


def args():
    return (torch.randn(2),)
