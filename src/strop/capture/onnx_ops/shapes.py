"""Shapes as values, and new shapes for values."""

from __future__ import annotations

import torch
from torch import Tensor

from strop.capture.onnx_ops import Unsupported, ints, made, onnx


@onnx("Shape")
def shape(x: Tensor, *, start: int = 0, end: int | None = None) -> Tensor:
    return made(torch.tensor, list(x.shape)[slice(start, end)], dtype=torch.int64)


@onnx("Reshape")
def reshape(x: Tensor, shape: Tensor, *, allowzero: int = 0) -> Tensor:
    wanted = ints(shape, "the shape")
    if wanted.count(-1) > 1:
        raise Unsupported(f"more than one extent of {wanted} is left open")
    if not allowzero:
        wanted = [x.shape[i] if extent == 0 and i < x.dim() else extent for i, extent in enumerate(wanted)]
    return x.reshape(wanted)
