# breaks: none
# says: to_graph safe-if

import torch


def loss(w, x):
    return ((x @ w) ** 2).mean()


def f(w, x):
    return torch.func.grad(loss)(w, x)


def args():
    return torch.randn(4), torch.randn(3, 4)
