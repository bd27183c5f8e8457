# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 2)
        self.b = nn.Linear(4, 3)

    def forward(self, batch):
        x = batch["x"]
        out = {"a": self.a(x), "b": self.b(x)}
        if "y" in batch:
            out["loss"] = F.mse_loss(out["a"], batch["y"])
        return out


f = Net()


def args():
    return ({"x": torch.randn(2, 4), "y": torch.randn(2, 2)},)
