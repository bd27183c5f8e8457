# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    assert x.shape[0] == 4 and x.ndim == 1, f"bad shape {x.shape}"
    return x.sqrt()


def args():
    return (torch.rand(4),)
