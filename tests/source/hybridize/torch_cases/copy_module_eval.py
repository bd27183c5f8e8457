# breaks: none
# says: to_graph safe-if

import copy

import torch
from torch import nn

m = nn.Linear(3, 3)
target = copy.deepcopy(m)


def f(x):
    with torch.no_grad():
        t = target(x)
    return ((m(x) - t) ** 2).mean()


def args():
    return (torch.randn(2, 3),)
