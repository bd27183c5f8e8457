# function: Lambda.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Lambda(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x):
        return self.fn(x)


f = Lambda(lambda x: x.view(x.size(0), -1))


def args():
    return (torch.randn(3, 2, 2),)
