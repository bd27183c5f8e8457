# breaks: none
# says: to_graph safe-if

import torch
from torch import nn

m = nn.Sequential(nn.Linear(2, 8), nn.GELU(), nn.Linear(8, 1))


def f(x, y):
    return nn.functional.mse_loss(m(x), y)


def args():
    return (torch.randn(4, 2), torch.randn(4, 1))
