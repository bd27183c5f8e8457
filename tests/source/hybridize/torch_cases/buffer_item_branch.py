# function: Norm.forward
# breaks: Not captured as one graph
# says: keep unsafe STR155

import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ready", torch.tensor(False))
        self.register_buffer("scale", torch.ones(3))

    def forward(self, x):
        if not self.ready:
            self.scale.copy_(x.std(0))
            self.ready.fill_(True)
        return x / self.scale


f = Norm()


def args():
    return (torch.randn(5, 3),)
