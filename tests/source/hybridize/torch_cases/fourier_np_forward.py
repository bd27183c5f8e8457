# function: Net.forward
# breaks: none
# says: to_graph safe-if

import numpy as np
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        freq = np.linspace(0, 1, 3)
        return x * torch.from_numpy(freq).float()


f = Net()


def args():
    return (torch.randn(2, 1),)
