# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        h = x.new_zeros(x.size(0), 8)
        outs = []
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            outs.append(self.head(h))
        return torch.stack(outs, dim=1)


f = Net()


def args():
    return (torch.randn(2, 5, 4),)
