# function: Enc.forward
# breaks: Not captured as one graph
# says: keep unsafe STR162

import random

import torch
import torch.nn as nn


class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))

    def forward(self, x):
        for l in self.layers:
            if self.training and random.random() < 0.1:
                continue
            x = l(x)
        return x


f = Enc()


def args():
    return (torch.randn(2, 3),)
