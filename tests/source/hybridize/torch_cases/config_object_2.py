# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Config:
    def __init__(self, **kw):
        self.hidden = kw.get("hidden", 4)
        self.act = kw.get("act", "gelu")
        self.dropout = kw.get("dropout", 0.1)


ACT2FN = {"gelu": nn.functional.gelu, "relu": nn.functional.relu}


class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.fc = nn.Linear(config.hidden, config.hidden)
        self.act = ACT2FN[config.act]

    def forward(self, x):
        x = self.act(self.fc(x))
        x = nn.functional.dropout(x, p=self.config.dropout, training=self.training)
        return x


f = Net(Config(hidden=4))


def args():
    return (torch.randn(2, 4),)
