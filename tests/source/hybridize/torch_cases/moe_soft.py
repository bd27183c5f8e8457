# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.gate = nn.Linear(4, 2)

    def forward(self, x):
        w = self.gate(x).softmax(-1)
        return sum(w[:, i : i + 1] * e(x) for i, e in enumerate(self.experts))


f = Net()


def args():
    return (torch.randn(2, 4),)
