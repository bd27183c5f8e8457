# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.acts = nn.ModuleDict({"relu": nn.ReLU(), "gelu": nn.GELU()})
        self.kind = "gelu"

    def forward(self, x, kind=None):
        return self.acts[kind or self.kind](x)


f = Net()


def args():
    return (torch.randn(3),)
