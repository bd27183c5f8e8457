# breaks: none
# says: to_graph safe-if

import torch


@torch.jit.script
def g(x):
    return x * 2


def f(x):
    return g(x) + 1


def args():
    return (torch.randn(2, 3),)
