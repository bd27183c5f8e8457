# breaks: Not captured as one graph
# says: keep unsafe STR162

import random

import torch
from torch import nn

layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])


def f(x):
    for layer in layers:
        if random.random() < 0.1:
            continue
        x = layer(x)
    return x


def args():
    return (torch.randn(2, 3),)
