# breaks: none
# says: to_graph safe-if

import torch


def f(x, k):
    if k in [1, 2] or k not in (3, 4):
        return x + 1
    return x


def args():
    return torch.randn(2), 1
