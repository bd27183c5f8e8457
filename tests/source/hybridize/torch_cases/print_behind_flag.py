# breaks: none
# says: to_graph safe-if

import torch

VERBOSE = False


def f(x):
    if VERBOSE:
        print("x", x)
    return x * 2


def args():
    return (torch.randn(5),)
