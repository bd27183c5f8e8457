# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    @property
    def scale(self):
        return self.l.in_features**-0.5

    def forward(self, x):
        return self.l(x) * self.scale


f = Net()


def args():
    return (torch.randn(2, 3),)
