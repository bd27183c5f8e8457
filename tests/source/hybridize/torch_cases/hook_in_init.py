# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.fc.register_forward_hook(lambda m, i, o: o * 2)

    def forward(self, x):
        return self.fc(x)


f = Net()


def args():
    return (torch.randn(2, 3),)
