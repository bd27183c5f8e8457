# function: Chunks.forward
# breaks: none
# says: to_graph safe-if

import numpy as np
import torch
from torch import nn


class Chunks(nn.Module):
    def __init__(self, size=128):
        super().__init__()
        self.size = size

    def forward(self, x):
        count = np.ceil(x.shape[0] / self.size)
        chunks = x.chunk(int(count), 0)
        return torch.cat([torch.relu(c) for c in chunks[: int(np.floor(x.shape[0] / self.size))]], 0)


f = Chunks(size=2)


def args():
    return (torch.randn(4, 3),)
