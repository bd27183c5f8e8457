# breaks: none
# says: to_graph safe-if

import os

import torch


def f(x):
    if os.environ.get("DEBUG", "0") == "1":
        x = x.double()
    return x + 1


def args():
    return (torch.randn(3, 3),)
