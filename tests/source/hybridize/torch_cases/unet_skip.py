# function: UNet.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
import torch.nn.functional as F


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(1, 2, 3, padding=1), nn.Conv2d(2, 4, 3, padding=1)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(4, 2, 2, stride=2), nn.ConvTranspose2d(4, 1, 2, stride=2)])

    def forward(self, x):
        skips = []
        for d in self.down:
            x = F.max_pool2d(F.relu(d(x)), 2)
            skips.append(x)
        skips.pop()
        for i, u in enumerate(self.up):
            x = u(x)
            if skips:
                x = torch.cat([x, skips.pop()], dim=1)
        return x


f = UNet()


def args():
    return (torch.randn(1, 1, 8, 8),)
