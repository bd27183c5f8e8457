# function: DropPath.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class DropPath(nn.Module):
    def __init__(self, p=0.1):
        super().__init__()
        self.p = p

    def forward(self, x):
        if self.p == 0.0 or not self.training:
            return x
        keep = 1 - self.p
        mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
        return x * mask / keep


f = DropPath()


def args():
    return (torch.randn(2, 3),)
