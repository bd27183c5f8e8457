# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        x = self.bn(x)
        if self.training:
            x = self.drop(x)
        return x


f = Net()


def args():
    return (torch.randn(5, 4),)
