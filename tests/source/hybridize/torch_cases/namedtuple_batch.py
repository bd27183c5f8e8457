# breaks: none
# says: to_graph safe

from typing import NamedTuple

import torch
import torch.nn.functional as F


class Batch(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


def f(b: Batch):
    return F.mse_loss(b.x, b.y)


def args():
    return (Batch(torch.randn(3), torch.randn(3)),)
