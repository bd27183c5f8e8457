# breaks: none
# says: to_graph safe

import torch


def f(p1: torch.Tensor, p2: torch.Tensor):
    d = torch.cdist(p1, p2)
    return d.min(1).values.mean() + d.min(2).values.mean()


def args():
    return torch.rand(1, 4, 3), torch.rand(1, 5, 3)
