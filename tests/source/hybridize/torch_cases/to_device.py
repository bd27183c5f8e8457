# breaks: none
# says: to_graph safe-if

import torch


def f(x, y):
    y = y.to(x.device, x.dtype)
    return x + y


def args():
    return torch.randn(3), torch.arange(3)
