# function: Encoder.forward
# breaks: Observed exception
# says: keep unsafe STR178

from collections import OrderedDict

import torch
import torch.nn as nn


class Output(OrderedDict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(4, 4)

    def encode(self, x):
        return Output(center=self.mean(x), spread=x.exp())

    def forward(self, x):
        output = self.encode(x)
        return torch.tanh(output.center) * output.spread + x.sigmoid()


f = Encoder()


def args():
    return (torch.ones(2, 4),)


if __name__ == "__main__":
    for _ in range(3):
        f(*args())
