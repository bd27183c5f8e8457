# function: Net.forward
# breaks: Failed to trace builtin operator
# says: keep unsafe STR158

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        x = self.fc(x)
        print(x.shape)
        return x


f = Net()


def args():
    return (torch.randn(2, 4),)
