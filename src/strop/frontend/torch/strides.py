"""Tensors with other strides."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import SymInt


def restrided(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """The same values with other strides; where one is 0, all elements along it are the same."""
    made = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype)
    once = tuple(slice(1) if stride == 0 else slice(None) for stride in strides)
    made[once].copy_(tensor[once])
    return made


def strides_like(shape: Sequence[int], traced: Sequence[int | SymInt]) -> tuple[int, ...]:
    """The strides that were traced; where they depend on sizes, those of a dense tensor in the same order."""
    hints = [int(step.node.hint) if isinstance(step, SymInt) else step for step in traced]
    if not any(isinstance(step, SymInt) for step in traced):
        return tuple(hints)
    found, size = [0] * len(hints), 1
    for dim in sorted(range(len(hints)), key=lambda dim: (hints[dim], -dim)):
        if hints[dim]:
            found[dim] = size
            size *= max(shape[dim], 1)
    return tuple(found)
