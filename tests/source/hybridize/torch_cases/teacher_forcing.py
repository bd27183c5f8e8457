# function: Decoder.forward
# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import random

import torch
import torch.nn as nn


class Decoder(nn.Module):
    def __init__(self, h=8):
        super().__init__()
        self.cell = nn.LSTMCell(h, h)

    def forward(self, x, y, ratio=0.5):
        h = c = torch.zeros(x.size(0), 8)
        teacher = True if random.random() < ratio else False
        inp = x
        for t in range(y.size(1)):
            h, c = self.cell(inp, (h, c))
            inp = y[:, t] if teacher else h
        return h


f = Decoder()


def args():
    return torch.randn(2, 8), torch.randn(2, 3, 8)
