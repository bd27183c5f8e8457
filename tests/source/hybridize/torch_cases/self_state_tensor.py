# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.last = None

    def forward(self, x):
        y = self.l(x)
        self.last = y.detach()
        return y


f = Net()


def args():
    return (torch.randn(5, 4),)
