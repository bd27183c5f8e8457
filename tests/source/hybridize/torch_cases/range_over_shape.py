# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    out = torch.zeros_like(x)
    for i in range(x.shape[0]):
        out[i] = x[i] * i
    return out


def args():
    return (torch.rand(4),)
