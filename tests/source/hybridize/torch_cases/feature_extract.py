# function: Extract.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Extract(nn.Module):
    def __init__(self, net, layers):
        super().__init__()
        self.net = net
        self.layers = layers

    def forward(self, x):
        out = {}
        for name, layer in self.net._modules.items():
            x = layer(x)
            if name in self.layers:
                out[name] = x
        return out


f = Extract(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), ["1"])


def args():
    return (torch.randn(3, 2),)
