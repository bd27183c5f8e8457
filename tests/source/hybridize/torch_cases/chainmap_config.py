# breaks: none
# says: to_graph safe-if

import collections

import torch

DEFAULTS = {"scale": 2.0, "shift": 1.0}


def f(x):
    cfg = collections.ChainMap({"shift": 0.5}, DEFAULTS)
    return x * cfg["scale"] + cfg["shift"]


def args():
    return (torch.randn(2),)
