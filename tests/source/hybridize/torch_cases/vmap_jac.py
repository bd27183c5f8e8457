# breaks: none
# says: to_graph safe-if

import torch


def g(x):
    return (x**3).sum()


def f(x):
    return torch.vmap(torch.func.grad(g))(x)


def args():
    return (torch.randn(3, 2),)
