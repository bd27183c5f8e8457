# function: Net.forward
# breaks: none
# says: keep safe-if STR152

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def forward(self, **batch):
        x = batch.pop("x")
        y = self.l(x)
        if batch.get("scale") is not None:
            y = y * batch["scale"]
        return y


net = Net()


def f(x, s):
    return net(x=x, scale=s)


def args():
    return torch.randn(2, 3), torch.tensor(2.0)
