# breaks: none
# says: to_graph safe-if

import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))


def f(x):
    h = net[:2](x)
    return net[-1](h), len(net)


def args():
    return (torch.randn(2, 3),)
