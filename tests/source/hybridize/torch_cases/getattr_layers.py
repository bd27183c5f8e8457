# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(3):
            setattr(self, f"fc{i}", nn.Linear(4, 4))

    def forward(self, x):
        for i in range(3):
            x = getattr(self, f"fc{i}")(x).relu()
        return x


f = Net()


def args():
    return (torch.randn(5, 4),)
