# function: PE.forward
# breaks: none
# says: to_graph safe-if

import math

import torch
import torch.nn as nn


class PE(nn.Module):
    def __init__(self, d=8, n=16):
        super().__init__()
        pe = torch.zeros(n, d)
        pos = torch.arange(0, n).unsqueeze(1).float()
        div = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d))
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe.unsqueeze(0))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        x = x + self.pe[:, : x.size(1)]
        return self.dropout(x)


f = PE()


def args():
    return (torch.randn(2, 4, 8),)


if __name__ == "__main__":
    f(*args())
