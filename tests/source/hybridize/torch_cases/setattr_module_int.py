# function: Net.forward
# breaks: none
# says: keep safe-if STR170

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0
        self.l = nn.Linear(2, 2)

    def forward(self, x):
        self.steps += 1
        return self.l(x)


f = Net()


def args():
    return (torch.randn(3, 2),)
