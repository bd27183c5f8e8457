# function: Net.forward
# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.by_name = nn.ModuleDict({"a": nn.ReLU()})

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        return self.by_name["a"](x)


f = Net()


def args():
    return (torch.randn(2, 4),)


if __name__ == "__main__":
    f(*args())
