# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    b, n = x.shape
    return x.view(b, n // 2, 2).reshape(-1, b).permute(1, 0) * (b * n) ** -0.5


def args():
    return (torch.randn(4, 6),)
