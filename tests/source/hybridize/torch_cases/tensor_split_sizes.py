# breaks: none
# says: to_graph safe-if

import torch


def f(x, sizes):
    parts = torch.split(x, sizes, dim=0)
    return torch.stack([p.sum(0) for p in parts])


def args():
    return (torch.randn(6, 2), [1, 2, 3])
