# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    out = torch.zeros(x.shape[0], 5)
    out[:, : x.shape[1]] = x
    out[:, -1] = 1.0
    return out


def args():
    return (torch.randn(2, 3),)
