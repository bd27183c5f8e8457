# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Normed:
    def forward(self, x):
        return super().forward(x) / (1 + x.norm())


class Lin(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def forward(self, x):
        return self.l(x)


class Net(Normed, Lin):
    def forward(self, x):
        return super().forward(x) + 1


f = Net()


def args():
    return (torch.randn(2, 3),)
