# breaks: none
# says: to_graph safe

from dataclasses import dataclass

import torch


@dataclass
class Out:
    a: torch.Tensor
    b: int = 2


def f(x):
    o = Out(x * 2)
    return o.a + o.b


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
