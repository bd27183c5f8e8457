# breaks: none
# says: to_graph safe-if

import torch


def f(x):
    if x.shape[-1] != 3:
        raise ValueError("bad input: " + str(x))
    return x * 2


def args():
    return (torch.randn(3),)
