"""Tensors with other strides."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def restrided(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """The same values with other strides; where one is 0, all elements along it are the same."""
    made = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype)
    once = tuple(slice(1) if stride == 0 else slice(None) for stride in strides)
    made[once].copy_(tensor[once])
    return made
