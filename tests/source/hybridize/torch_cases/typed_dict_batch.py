# breaks: none
# says: to_graph safe-if

from typing import TypedDict

import torch


class Batch(TypedDict):
    x: torch.Tensor
    w: torch.Tensor


def f(batch: Batch):
    return (batch["x"] * batch["w"]).sum()


def args():
    return (Batch(x=torch.randn(2), w=torch.ones(2)),)
