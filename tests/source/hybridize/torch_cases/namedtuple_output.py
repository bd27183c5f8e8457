# breaks: none
# says: to_graph safe-if

from typing import NamedTuple

import torch


class Stats(NamedTuple):
    mean: torch.Tensor
    var: torch.Tensor


def f(x):
    return Stats(x.mean(0), x.var(0))


def args():
    return (torch.randn(4, 3),)
