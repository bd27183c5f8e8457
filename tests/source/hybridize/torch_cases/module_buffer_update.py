# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        self.mean.mul_(0.9).add_(x.mean(0) * 0.1)
        self.mean = self.mean * 0.5
        return x - self.mean


f = Net()


def args():
    return (torch.randn(2, 4),)
