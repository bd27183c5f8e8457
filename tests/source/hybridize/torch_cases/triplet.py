# breaks: none
# says: to_graph safe

import torch
from torch import nn

emb = nn.Linear(4, 3)


def f(a, p, n, margin=0.2):
    ea, ep, en = map(emb, (a, p, n))
    return torch.relu((ea - ep).pow(2).sum(1) - (ea - en).pow(2).sum(1) + margin).mean()


def args():
    return torch.randn(2, 4), torch.randn(2, 4), torch.randn(2, 4)
