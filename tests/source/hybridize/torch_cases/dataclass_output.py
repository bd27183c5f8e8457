# breaks: none
# says: to_graph safe-if

from dataclasses import dataclass

import torch


@dataclass
class Out:
    logits: torch.Tensor
    loss: torch.Tensor | None = None


def f(x, y=None):
    logits = x @ x.T
    loss = None
    if y is not None:
        loss = ((logits - y) ** 2).mean()
    return Out(logits=logits, loss=loss)


def args():
    return torch.randn(3, 3), torch.randn(3, 3)
