"""A compiled matrix product, by the algorithm that a test means to try."""

from __future__ import annotations

import torch
from torch import nn

import strop
from strop.session import Session

CHECKED = strop.Options(cache=False, check=True, numerics="fast")


def product(x: torch.Tensor, weight: torch.Tensor, algorithm: str, threads: int = 1) -> torch.Tensor:
    """x·weightᵀ; the journal has to name the algorithm."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=weight.dtype).eval()
    with torch.no_grad():
        layer.weight.copy_(weight)
        session = Session(layer, (x,), options=CHECKED, threads=threads)
        result: torch.Tensor = session.module(x)
    assert any(algorithm in str(entry) for entry in session.journal.events)
    return result
