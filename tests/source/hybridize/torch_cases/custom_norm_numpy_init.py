# function: Net.forward
# breaks: none
# says: to_graph safe-if

import numpy as np
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("freq", torch.from_numpy(np.linspace(0, 1, 3)).float())

    def forward(self, x):
        return torch.cat([torch.sin(x * self.freq), torch.cos(x * self.freq)], -1)


f = Net()


def args():
    return (torch.randn(2, 1),)
