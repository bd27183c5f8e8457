# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    return {"mean": x.mean(), "std": x.std(), "x": x}


def args():
    return (torch.randn(4),)
