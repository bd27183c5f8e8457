"""Products of dequantised tensors, computed on the whole numbers behind them.

(s·a) @ (t·b) = (s·t)·(a @ b): the sum on the right is exact on bytes, and in floating point as long as it fits a
float32's 24 bits, as in the integer kernels of other runtimes, so that the rounding which follows in a quantised
network falls the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from strop.frontend.onnx.ops import known, made, scalar

#: the attribute under which a dequantised tensor keeps what it was made from
SCALED = "_strop_scaled"


class Scaled(NamedTuple):
    """Centred whole numbers, their scale and its axis; the quantised tensor and its zero point."""

    value: Tensor
    scale: Tensor
    axis: int
    quantised: Tensor
    zero: Tensor | None


OnBytes = Callable[[Tensor, Tensor, Tensor | None, Tensor | None], Tensor | None]


def product(
    multiply: Callable[[Tensor, Tensor], Tensor], on_bytes: OnBytes, a: Tensor, b: Tensor, kept: int, place: int,
    bias: Tensor | None = None,
) -> Tensor | None:  # fmt: skip
    """multiply(a, b) + bias where both were dequantised: `a` by one scale, `b` by one or one per index of `kept`.

    `on_bytes` is the same on quantised tensors and their zero points, in int32, where it can. The axis `kept` is the
    result's `place`, counted from the end; the bias lies along it, and is added to the whole numbers where it was
    dequantised by the product's own scale. None where it cannot be done.
    """
    left: Scaled | None = getattr(a, SCALED, None)
    right: Scaled | None = getattr(b, SCALED, None)
    if left is None or right is None or left.scale.numel() != 1:
        return None
    if right.scale.numel() != 1 and right.axis != kept % b.dim():
        return None
    along = [-1, *[1] * (-1 - place)]
    scale = left.scale.reshape(()) * right.scale.reshape(-1)
    result = on_bytes(left.quantised, right.quantised, left.zero, right.zero)
    if result is None:
        result = multiply(left.value, right.value)
    added: Scaled | None = getattr(bias, SCALED, None)
    if added is not None and _equal(added.scale, scale):
        plain = added.quantised if added.zero is None and not result.is_floating_point() else added.value
        result, bias = result + plain.reshape(along).to(result.dtype), None
    result = result.to(torch.float32) * scale.reshape(along)
    return result if bias is None else result + bias.reshape(along)


def _equal(a: Tensor, b: Tensor) -> bool:
    """Whether two scales are known to be the same, but for rounding."""
    known_a, known_b = known(a), known(b)
    if known_a is None or known_b is None or known_a.numel() != known_b.numel():
        return False
    return bool(scalar(made(lambda: torch.isclose(known_a.reshape(-1), known_b.reshape(-1), 1e-5, 0.0).all())))
