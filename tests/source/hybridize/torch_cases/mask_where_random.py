# breaks: none
# says: to_graph safe-if

import torch


def f(x, p=0.5):
    keep = torch.rand(x.size(0), 1) > p
    return torch.where(keep, x, torch.zeros_like(x))


def args():
    return (torch.rand(3, 2),)
