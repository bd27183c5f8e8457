# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))


def f(x):
    h = net[0](x)
    for layer in net[1:]:
        h = layer(h)
    return h


def args():
    return (torch.randn(1, 2),)
