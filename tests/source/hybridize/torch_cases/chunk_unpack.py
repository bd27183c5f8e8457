# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    q, k, v = x.chunk(3, dim=-1)
    return torch.softmax(q @ k.mT, -1) @ v


def args():
    return (torch.randn(2, 4, 12),)
