# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn

feats = {}


def hook(m, i, o):
    feats["h"] = o.detach()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.a.register_forward_hook(hook)

    def forward(self, x):
        return self.a(x).relu()


f = Net()


def args():
    return (torch.randn(2, 4),)
