# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())


def f(x):
    for l in m:
        x = l(x)
        if isinstance(l, nn.ReLU):
            x = x * 2
    return x


def args():
    return (torch.randn(3, 2),)
