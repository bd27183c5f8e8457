# breaks: none
# says: to_graph safe-if

import torch

cache = {}


def f(x):
    cache["last"] = x
    return x * 2


def args():
    return (torch.rand(4),)
