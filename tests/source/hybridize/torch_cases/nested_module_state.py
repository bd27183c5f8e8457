# function: Outer.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x):
        out = x if self.last is None else x + self.last
        self.last = x.detach()
        return out


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.mem = Memory()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(self.mem(x))


f = Outer()


def args():
    return (torch.randn(2, 3),)
