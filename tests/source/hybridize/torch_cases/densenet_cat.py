# function: Dense.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2 + 2 * i, 2) for i in range(3)])

    def forward(self, x):
        feats = [x]
        for l in self.layers:
            feats.append(l(torch.cat(feats, 1)).relu())
        return torch.cat(feats, 1)


f = Dense()


def args():
    return (torch.randn(2, 2),)
