# function: Net.forward
# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x):
        h = torch.zeros(x.size(0), 4)
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
        return h


f = Net()


def args():
    return (torch.randn(2, 3, 4),)


if __name__ == "__main__":
    f(*args())
