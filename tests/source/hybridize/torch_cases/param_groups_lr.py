# breaks: none
# says: to_graph safe-if

import torch
from torch import nn

m = nn.Linear(2, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)


def f(x):
    for g in opt.param_groups:
        g["lr"] = g["lr"] * 0.9
    return m(x)


def args():
    return (torch.randn(2),)
