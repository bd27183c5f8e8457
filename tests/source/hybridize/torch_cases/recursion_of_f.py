# breaks: none
# says: to_graph safe-if

import torch


def f(x, n):
    if n == 0:
        return x
    return f(x * 2, n - 1)


def args():
    return torch.randn(4), 3
