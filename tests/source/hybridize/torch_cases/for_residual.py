# breaks: none
# says: to_graph safe-if

import torch


def f(a, b):
    x = torch.zeros_like(b)
    for _ in range(10):
        x = x + 0.1 * (b - a @ x)
    return x


def args():
    return (torch.eye(3), torch.randn(3))
