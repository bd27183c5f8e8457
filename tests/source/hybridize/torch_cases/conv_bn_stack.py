# function: Net.forward
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for i in range(2):
            layers += [nn.Conv2d(1 if i == 0 else 2, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU()]
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(2, 3)

    def forward(self, x):
        x = self.features(x)
        x = nn.functional.adaptive_avg_pool2d(x, 1).flatten(1)
        return self.classifier(x)


f = Net()


def args():
    return (torch.randn(1, 1, 6, 6),)
