# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())


def f(x):
    for name, child in m.named_children():
        x = child(x)
    return x


def args():
    return (torch.randn(3, 2),)
