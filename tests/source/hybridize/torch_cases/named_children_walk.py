# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)

    def forward(self, x):
        outs = {}
        for name, child in self.named_children():
            x = child(x)
            outs[name] = x
        return outs["a"] + outs["b"]


f = Net()


def args():
    return (torch.randn(2, 3),)
