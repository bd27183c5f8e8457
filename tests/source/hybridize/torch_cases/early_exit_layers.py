# function: Net.forward
# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.threshold = 0.9

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            conf = torch.softmax(x, -1).max()
            if conf > self.threshold:
                break
        return x


f = Net()


def args():
    return (torch.randn(2, 4),)
