# breaks: none
# says: to_graph safe-if

import enum

import torch


class Mode(enum.Enum):
    A = 1
    B = 2


def f(x, m):
    if m is Mode.A or m == Mode.B:
        return x * m.value
    return x


def args():
    return torch.randn(2), Mode.A
