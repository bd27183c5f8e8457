# function: Net.forward
# breaks: none
# says: keep safe-if STR170

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.last = None
        self.history = []

    def forward(self, x):
        y = self.fc(x)
        self.last = y
        self.history.append(y.detach())
        return y


f = Net()


def args():
    return (torch.randn(2, 4),)
