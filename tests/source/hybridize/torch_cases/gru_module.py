# function: Net.forward
# breaks: Not captured as one graph
# says: keep unsafe STR168

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 4, batch_first=True)
        self.out = nn.Linear(4, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1])


f = Net()


def args():
    return (torch.randn(2, 5, 3),)
