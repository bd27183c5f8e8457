# function: Norm.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        if self.training:
            self.mean.mul_(0.9).add_(0.1 * x.mean(0))
            self.count += 1
        return x - self.mean


f = Norm()


def args():
    return (torch.randn(5, 3),)
