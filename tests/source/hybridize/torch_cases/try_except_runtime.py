# breaks: none
# says: to_graph safe-if

import torch


def f(x, w):
    try:
        return x @ w
    except RuntimeError:
        return x


def args():
    return torch.randn(2, 3), torch.randn(3, 2)
