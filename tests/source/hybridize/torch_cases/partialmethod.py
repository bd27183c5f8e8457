# function: Net.forward
# breaks: Not captured as one graph
# says: keep unsafe STR159

import functools

import torch
from torch import nn


class Net(nn.Module):
    def scale(self, x, by):
        return x * by

    double = functools.partialmethod(scale, by=2)

    def forward(self, x):
        return self.double(x)


f = Net()


def args():
    return (torch.randn(2),)
