# breaks: none
# says: to_graph safe-if

import torch


class Config:
    eps = 1e-5
    dims = (0, 1)


def f(x):
    return (x - x.mean(Config.dims)) / (x.std() + Config.eps)


def args():
    return (torch.randn(2, 3),)
