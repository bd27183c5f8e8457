# breaks: none
# says: to_graph safe-if

import torch


def f(x, i):
    return x[i] * 2


def args():
    return torch.randn(4), torch.tensor([0, 2])
