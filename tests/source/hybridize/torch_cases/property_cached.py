# function: Net.forward
# breaks: Not captured as one graph
# says: keep unsafe STR166

from functools import cached_property

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    @cached_property
    def scale(self):
        return 4**-0.5

    def forward(self, x):
        return self.l(x) * self.scale


f = Net()


def args():
    return (torch.randn(2, 4),)
