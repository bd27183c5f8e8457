# breaks: none
# says: to_graph safe-if

import os

import torch


def f(x):
    if os.environ.get("SCALE") == "1":
        return x * 2
    return x + 1


def args():
    return (torch.randn(4),)
