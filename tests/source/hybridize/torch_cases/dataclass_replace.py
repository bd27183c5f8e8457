# breaks: none
# says: to_graph safe-if

import dataclasses

import torch


@dataclasses.dataclass(frozen=True)
class P:
    a: float
    b: float


def f(x):
    p = dataclasses.replace(P(1.0, 2.0), a=3.0)
    return p.a * x + p.b


def args():
    return (torch.randn(3),)
