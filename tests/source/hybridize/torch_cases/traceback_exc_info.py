# breaks: none
# says: to_graph safe-if

import traceback

import torch


def f(x):
    try:
        raise ValueError("a")
    except ValueError as e:
        s = str(e)
    return x + 1


def args():
    return (torch.rand(3),)
