# function: STN.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
import torch.nn.functional as F


class STN(nn.Module):
    def __init__(self):
        super(STN, self).__init__()
        self.loc = nn.Sequential(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2, stride=2), nn.ReLU(True))
        self.fc = nn.Sequential(nn.Linear(2 * 3 * 3, 8), nn.ReLU(True), nn.Linear(8, 6))
        self.fc[2].weight.data.zero_()
        self.fc[2].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))

    def stn(self, x):
        xs = self.loc(x)
        xs = xs.view(-1, 2 * 3 * 3)
        theta = self.fc(xs).view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size(), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        return self.stn(x)


f = STN()


def args():
    return (torch.randn(1, 1, 8, 8),)
