# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self._t = 1.0

    @property
    def temperature(self):
        return self._t

    @temperature.setter
    def temperature(self, value):
        self._t = value

    def forward(self, x):
        return x / self.temperature


f = Net()


def args():
    return (torch.randn(2),)
