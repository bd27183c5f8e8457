# breaks: none
# says: to_graph safe-if

import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))


def f(x, y, lam=1e-3):
    mse = nn.MSELoss()(net(x), y)
    l1 = torch.stack([p.abs().sum() for p in net.parameters()]).sum()
    return mse + lam * l1


def args():
    return torch.randn(2, 3), torch.randn(2, 1)
