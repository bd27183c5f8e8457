# breaks: none
# says: to_graph safe-if

from enum import Enum

import torch


class Mode(Enum):
    SUM = 1
    MEAN = 2


def f(x, mode=Mode.MEAN):
    if mode is Mode.SUM:
        return x.sum()
    return x.mean()


def args():
    return (torch.randn(3, 2),)
