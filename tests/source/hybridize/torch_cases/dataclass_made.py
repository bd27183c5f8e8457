# breaks: none
# says: to_graph safe-if

from dataclasses import dataclass

import torch


@dataclass
class Out:
    a: torch.Tensor
    b: int = 2


def f(x):
    return Out(x * 2, b=3)


def args():
    return (torch.randn(4),)
