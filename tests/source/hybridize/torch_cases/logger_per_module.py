# function: Net.forward
# breaks: logging.Logger method not supported for non-export cases
# says: keep unsafe STR158

import logging

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.log = logging.getLogger("net")
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        x = self.fc(x)
        self.log.warning("shape %s", x.shape)
        return x


f = Net()


def args():
    return (torch.randn(2, 3),)
