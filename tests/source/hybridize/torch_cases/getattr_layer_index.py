# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.depth = depth
        for i in range(depth):
            setattr(self, f"layer{i}", nn.Linear(4, 4))

    def forward(self, x):
        for i in range(self.depth):
            x = getattr(self, f"layer{i}")(x).relu()
        return x


f = Net()


def args():
    return (torch.randn(2, 4),)
