"""Products of dequantised tensors, computed on the whole numbers behind them.

(s·a) @ (t·b) = (s·t)·(a @ b): the sum on the right is exact as long as it fits a float32's 24 bits, as the integer
kernels of other runtimes are, so that the rounding which follows in a quantised network falls the same way.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from strop.capture.onnx_ops import known, made, scalar

#: the attribute under which a dequantised tensor keeps its whole numbers, their scale, and its axis
SCALED = "_strop_scaled"


def product(
    multiply: Callable[[Tensor, Tensor], Tensor], a: Tensor, b: Tensor, kept: int, place: int,
    bias: Tensor | None = None,
) -> Tensor | None:  # fmt: skip
    """multiply(a, b) + bias where both were dequantised: `a` by one scale, `b` by one or one per index of `kept`.

    That axis is the result's `place`, counted from the end; the bias lies along it, and is added to the whole numbers
    where it was dequantised by the product's own scale. None where it cannot be done.
    """
    left, right = getattr(a, SCALED, None), getattr(b, SCALED, None)
    if left is None or right is None or left[1].numel() != 1:
        return None
    (whole, scale, _), (other, scales, axis) = left, right
    if scales.numel() != 1 and axis != kept % b.dim():
        return None
    along = [-1, *[1] * (-1 - place)]
    scale = scale.reshape(()) * scales.reshape(-1)
    result: Tensor = multiply(whole, other)
    added = getattr(bias, SCALED, None)
    if added is not None and _equal(added[1], scale):
        result, bias = result + added[0].reshape(along), None
    result = result * scale.reshape(along)
    return result if bias is None else result + bias.reshape(along)


def _equal(a: Tensor, b: Tensor) -> bool:
    """Whether two scales are known to be the same, but for rounding."""
    known_a, known_b = known(a), known(b)
    if known_a is None or known_b is None or known_a.numel() != known_b.numel():
        return False
    return bool(scalar(made(lambda: torch.isclose(known_a.reshape(-1), known_b.reshape(-1), 1e-5, 0.0).all())))
