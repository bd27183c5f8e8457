# function: FF.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class FF(nn.Module):
    def __init__(self, d=4):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(d, 8), nn.Linear(8, d), nn.Linear(d, 8)

    def forward(self, x):
        return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x))


f = FF()


def args():
    return (torch.randn(2, 4),)
