# function: Net.forward
# breaks: Failed to trace builtin operator
# says: keep unsafe STR158

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, verbose=True):
        super().__init__()
        self.verbose = verbose
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        y = self.fc(x)
        if self.verbose:
            print(y.shape)
        return y


f = Net()


def args():
    return (torch.randn(1, 2),)
