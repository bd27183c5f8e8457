# breaks: none
# says: to_graph safe-if

import torch


def f(d, x):
    try:
        s = d["scale"]
    except KeyError:
        s = 1.0
    return x * s


def args():
    return {}, torch.randn(3)
