# function: Residual.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x, *args, **kwargs):
        return self.fn(x, *args, **kwargs) + x


f = Residual(nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 4)))


def args():
    return (torch.randn(2, 4),)
