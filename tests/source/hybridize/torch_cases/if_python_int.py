# breaks: none
# says: to_graph safe-if

import torch


def f(x, k):
    if k > 1:
        return x * k
    return x + 1


def args():
    return torch.randn(4), 3
