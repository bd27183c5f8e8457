# breaks: Not captured as one graph
# says: keep unsafe STR177

import torch
from torch import nn

m = nn.Linear(2, 1)


def f(x):
    for p in m.parameters():
        p.requires_grad = False
    return m(x)


def args():
    return (torch.randn(2),)
