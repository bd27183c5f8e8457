# function: Net.forward
# breaks: none
# says: no_benefit safe-if STR153

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))

    def forward(self, x):
        return self.l(x)


f = Net()


def args():
    return (torch.randn(2, 4),)
