"""A ResNet-like image classifier for small images, trained with momentum."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, planes, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(planes),
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class ResNet(nn.Module):
    def __init__(self, blocks=(2, 2, 2, 2), width=32, num_classes=10):
        super().__init__()
        self.in_planes = width
        self.conv1 = nn.Conv2d(3, width, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1 = self._make_layer(width, blocks[0], stride=1)
        self.layer2 = self._make_layer(2 * width, blocks[1], stride=2)
        self.layer3 = self._make_layer(4 * width, blocks[2], stride=2)
        self.layer4 = self._make_layer(8 * width, blocks[3], stride=2)
        self.linear = nn.Linear(8 * width, num_classes)

    def _make_layer(self, planes, count, stride):
        layers = []
        for s in [stride] + [1] * (count - 1):
            layers.append(BasicBlock(self.in_planes, planes, s))
            self.in_planes = planes
        return nn.Sequential(*layers)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer4(self.layer3(self.layer2(self.layer1(out))))
        out = F.adaptive_avg_pool2d(out, 1).flatten(1)
        return self.linear(out)


def make_model():
    return ResNet()


def make_batch(batch_size=8):
    return (torch.randn(batch_size, 3, 32, 32),), torch.randint(0, 10, (batch_size,))


def make_optimizer(model):
    return optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)


def loss_of(model, batch):
    inputs, labels = batch
    return nn.CrossEntropyLoss()(model(*inputs), labels)


def example():
    """A model and inputs, for `strop verify --adopt --entry example`."""
    return make_model(), make_batch(2)[0]
