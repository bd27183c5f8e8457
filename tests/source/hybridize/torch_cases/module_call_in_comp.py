# breaks: none
# says: to_graph safe-if

import torch
from torch import nn

heads = nn.ModuleList([nn.Linear(3, 2) for _ in range(2)])


def f(x):
    return torch.stack([h(x) for h in heads]).mean(0)


def args():
    return (torch.randn(2, 3),)
