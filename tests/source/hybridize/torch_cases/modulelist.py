# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.acts = nn.ModuleDict({"relu": nn.ReLU(), "gelu": nn.GELU()})

    def forward(self, x, act="relu"):
        for i, l in enumerate(self.layers):
            x = self.acts[act](l(x)) + x
        return x


f = Net()


def args():
    return (torch.randn(5, 4),)
