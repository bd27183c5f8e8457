# breaks: none
# says: to_graph safe

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Out:
    a: torch.Tensor
    b: int = 2


def f(x):
    return Out(x * 2)


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
