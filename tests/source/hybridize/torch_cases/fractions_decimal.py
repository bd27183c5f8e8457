# breaks: none
# says: to_graph safe-if

from fractions import Fraction

import torch


def f(x):
    return x * float(Fraction(1, 2))


def args():
    return (torch.rand(3),)
