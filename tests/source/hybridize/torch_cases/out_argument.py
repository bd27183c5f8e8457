# breaks: none
# says: to_graph safe-if

import torch


def f(x, y):
    torch.add(x, 1, out=y)
    return y * 2


def args():
    return torch.randn(4), torch.empty(4)
