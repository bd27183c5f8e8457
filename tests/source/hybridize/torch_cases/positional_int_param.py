# breaks: none
# says: to_graph safe-if

import torch


def f(x, n: int):
    for _ in range(n):
        x = torch.nn.functional.avg_pool1d(x, 2)
    return x


def args():
    return torch.randn(1, 1, 8), 2
