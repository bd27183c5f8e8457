# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.Linear(2, 1)})

    def forward(self, x, task: str):
        return {name: h(x) for name, h in self.heads.items() if name == task or task == "all"}


f = Net()


def args():
    return torch.randn(1, 2), "all"
