# breaks: none
# says: to_graph safe

from typing import Optional

import torch


def f(x: torch.Tensor, scale: Optional[float] = None, flag: bool = True) -> torch.Tensor:
    if scale is None:
        scale = 1.0 if flag else 2.0
    return x * scale


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
