# breaks: Failed to trace builtin operator
# says: to_graph safe-if

import torch


def f(x, n):
    for i in range(n):
        x = x + i
    return x


def args():
    return torch.randn(2), torch.tensor(3)
