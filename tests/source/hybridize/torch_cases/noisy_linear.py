# function: Noisy.forward
# breaks: none
# says: to_graph safe-if

import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class Noisy(nn.Module):
    def __init__(self, i, o, std=0.4):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(o, i) / math.sqrt(i))
        self.sigma = nn.Parameter(torch.full((o, i), std / math.sqrt(i)))
        self.register_buffer("eps", torch.zeros(o, i))

    def reset_noise(self):
        self.eps.normal_()

    def forward(self, x):
        if self.training:
            self.reset_noise()
            w = self.mu + self.sigma * self.eps
        else:
            w = self.mu
        return F.linear(x, w)


f = Noisy(3, 2)


def args():
    return (torch.randn(2, 3),)
