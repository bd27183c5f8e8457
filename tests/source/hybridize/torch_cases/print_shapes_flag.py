# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, debug=False):
        super().__init__()
        self.debug = debug
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        x = self.fc(x)
        if self.debug:
            print(x.shape)
        return x


f = Net()


def args():
    return (torch.randn(2, 3),)
