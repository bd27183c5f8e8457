# breaks: none
# says: to_graph safe-if

import torch


def f(x, v):
    y = x.clone()
    y[y < 0] = v[:1]
    return y


def args():
    return torch.randn(4), torch.randn(4)
