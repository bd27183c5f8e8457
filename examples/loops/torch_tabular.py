"""Trains a small residual network on tabular data."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def gelu(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))


class Norm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
        return self.scale * (x - mean) / torch.sqrt(var + self.eps) + self.shift


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = Norm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, features=24, width=64, depth=4):
        super().__init__()
        self.embed = nn.Linear(features, width)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.norm = Norm(width)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.embed(x)))).squeeze(-1)


def loss_fn(model, x, y):
    pred = model(x)
    return F.smooth_l1_loss(pred, y) + 1e-4 * sum((p * p).sum() for p in model.parameters())


def train(model, optimizer, loader):
    model.train()
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_fn(model, x, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def make_data(batches=12, size=256):
    torch.manual_seed(2)
    data = []
    for _ in range(batches):
        x = torch.randn(size, 24)
        data.append((x, torch.sin(x[:, 0]) + x[:, 1] * x[:, 2]))
    return data


def main():
    data = make_data()
    torch.manual_seed(3)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return train(model, optimizer, data)


if __name__ == "__main__":
    print(main())
