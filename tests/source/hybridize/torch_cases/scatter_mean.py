# breaks: none
# says: to_graph safe-if

import torch


def f(x, idx):
    out = torch.zeros(3, x.size(1)).index_add_(0, idx, x)
    cnt = torch.zeros(3).scatter_add_(0, idx, torch.ones(idx.size(0)))
    return out / cnt.clamp(min=1)[:, None]


def args():
    return torch.randn(4, 2), torch.tensor([0, 1, 1, 2])
