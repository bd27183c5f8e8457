# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.TransformerEncoderLayer(8, 2, batch_first=True)
        self.att = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        y, w = self.att(x, x, x)
        return self.enc(x) + y


f = Net()


def args():
    return (torch.randn(2, 3, 8),)
