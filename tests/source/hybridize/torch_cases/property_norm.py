# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4))

    @property
    def weight(self):
        return self.w / self.w.norm()

    def forward(self, x):
        return F.linear(x, self.weight)


f = Net()


def args():
    return (torch.randn(2, 4),)
