# breaks: none
# says: to_graph safe-if

import torch

w = torch.randn(3)


def loss(x, y):
    return (x @ w - y) ** 2


def f(xs, ys):
    return torch.vmap(loss)(xs, ys).mean()


def args():
    return (torch.randn(4, 3), torch.randn(4))
