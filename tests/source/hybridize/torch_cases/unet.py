# function: UNet.forward
# breaks: none
# says: to_graph safe-if

import torch
import torch.nn as nn
import torch.nn.functional as F


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, chans=(2, 4, 8)):
        super().__init__()
        self.downs = nn.ModuleList()
        self.ups = nn.ModuleList()
        prev = 1
        for c in chans:
            self.downs.append(block(prev, c))
            prev = c
        for c in reversed(chans[:-1]):
            self.ups.append(block(prev + c, c))
            prev = c
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        skips = []
        for i, d in enumerate(self.downs):
            x = d(x)
            if i < len(self.downs) - 1:
                skips.append(x)
                x = self.pool(x)
        for u in self.ups:
            s = skips.pop()
            x = F.interpolate(x, size=s.shape[-2:], mode="bilinear", align_corners=False)
            if x.shape != s.shape:
                x = F.pad(x, [0, s.shape[-1] - x.shape[-1], 0, s.shape[-2] - x.shape[-2]])
            x = u(torch.cat([x, s], dim=1))
        return x


f = UNet()


def args():
    return (torch.randn(1, 1, 8, 8),)
