# breaks: none
# says: to_graph safe

from typing import Union

import torch

Number = Union[int, float]


def f(x: torch.Tensor, scale: Number | None = None, *, mask: torch.Tensor | None = None) -> torch.Tensor:
    if scale is None:
        scale = x.shape[-1] ** -0.5
    x = x * scale
    if mask is not None:
        x = x.masked_fill(~mask, float("-inf"))
    return x.softmax(-1)


def args():
    return (torch.randn(2, 3),)
