# breaks: none
# says: to_graph safe-if

import dataclasses

import torch


@dataclasses.dataclass
class P:
    a: float = 1.0
    b: float = 2.0


CONFIG = P()


def f(x):
    d = dataclasses.asdict(CONFIG)
    return x * d["a"] + d["b"]


def args():
    return (torch.randn(3),)
