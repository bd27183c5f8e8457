# breaks: none
# says: to_graph safe-if

import torch

STORE = {}


def f(x):
    key = id(STORE) % 7
    STORE["last"] = key
    return x * 1.0


def args():
    return (torch.randn(2),)
