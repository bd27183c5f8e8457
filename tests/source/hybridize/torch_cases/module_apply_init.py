# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


def init(m):
    if isinstance(m, nn.Linear):
        nn.init.zeros_(m.bias)


net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
net.apply(init)


def f(x):
    return net(x)


def args():
    return (torch.randn(2, 3),)
