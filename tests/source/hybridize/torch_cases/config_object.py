# function: Net.forward
# breaks: none
# says: to_graph safe-if

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    dim: int = 4
    act: str = "gelu"


class Net(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.fc = nn.Linear(cfg.dim, cfg.dim)

    def forward(self, x):
        x = self.fc(x)
        if self.cfg.act == "gelu":
            return F.gelu(x)
        elif self.cfg.act == "relu":
            return F.relu(x)
        raise ValueError(self.cfg.act)


f = Net(Config())


def args():
    return (torch.randn(2, 4),)
