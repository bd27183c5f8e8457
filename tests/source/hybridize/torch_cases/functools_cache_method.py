# function: Net.forward
# breaks: none
# says: to_graph safe

import functools

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    @functools.lru_cache
    def scale(self, n):
        return n * 2

    def forward(self, x):
        return x * self.w * self.scale(2)


f = Net()


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
