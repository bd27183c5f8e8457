# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ema", torch.zeros(4))

    def forward(self, x):
        if self.training:
            self.ema.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
        return x - self.ema


f = Net()


def args():
    return (torch.randn(5, 4),)
