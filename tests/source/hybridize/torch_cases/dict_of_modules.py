# function: Multi.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.ModuleDict({k: nn.Linear(2, 4) for k in ("a", "b")})

    def forward(self, batch):
        return sum(self.enc[k](v) for k, v in batch.items())


f = Multi()


def args():
    return ({"a": torch.randn(1, 2), "b": torch.randn(1, 2)},)
