# breaks: none
# says: to_graph safe-if

import torch
from torch import nn

m = nn.Sequential(nn.Linear(2, 2), nn.Dropout())


def f(x):
    m.eval()
    return m(x)


def args():
    return (torch.randn(2),)
