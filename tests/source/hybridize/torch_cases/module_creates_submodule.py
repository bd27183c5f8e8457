# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        return nn.ReLU()(x) + nn.Softmax(dim=-1)(x)


f = Net()


def args():
    return (torch.randn(2, 4),)
