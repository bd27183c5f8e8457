# function: Net.forward
# breaks: none
# says: to_graph safe

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU(inplace=True))

    def forward(self, x):
        return x + self.body(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 1)
        self.blocks = nn.Sequential(*[Block(4) for _ in range(2)])
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        x = F.adaptive_avg_pool2d(x, 1).view(x.size(0), -1)
        return self.head(x)


f = Net()


def args():
    return (torch.randn(2, 3, 6, 6),)


if __name__ == "__main__":
    f(*args())
