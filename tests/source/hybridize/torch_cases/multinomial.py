# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return torch.multinomial(x, 2) + torch.bernoulli(x).sum() + torch.normal(x, x).sum()


def args():
    return (torch.rand(3),)
