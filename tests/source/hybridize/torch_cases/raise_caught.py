# breaks: none
# says: to_graph safe-if

import torch


def check(x):
    raise ValueError("no")


def f(x):
    try:
        check(x)
    except ValueError:
        x = x + 1
    return x


def args():
    return (torch.rand(4),)
