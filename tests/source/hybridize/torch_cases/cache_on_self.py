# function: Pos.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Pos(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x):
        n = x.shape[1]
        if n not in self.cache:
            self.cache[n] = torch.arange(n).float().sin()
        return x + self.cache[n]


f = Pos()


def args():
    return (torch.randn(2, 4),)
