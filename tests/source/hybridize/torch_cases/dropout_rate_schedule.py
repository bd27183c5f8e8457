# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rate = 0.1
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        self.rate = min(0.5, self.rate + 0.01)
        return F.dropout(self.fc(x), self.rate, self.training)


f = Net()


def args():
    return (torch.randn(2, 4),)
