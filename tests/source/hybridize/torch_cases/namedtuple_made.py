# breaks: none
# says: to_graph safe-if

from collections import namedtuple

import torch

Out = namedtuple("Out", "a b")


def f(x):
    return Out(x, x * 2)


def args():
    return (torch.randn(4),)
