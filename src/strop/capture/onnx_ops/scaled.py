"""Products of dequantised tensors, computed on the whole numbers behind them.

(s·a) @ (t·b) = (s·t)·(a @ b): the sum on the right is exact as long as it fits a float32's 24 bits, as the integer
kernels of other runtimes are, so that the rounding which follows in a quantised network falls the same way.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

#: the attribute under which a dequantised tensor keeps its whole numbers, their scale, and its axis
SCALED = "_strop_scaled"


def product(multiply: Callable[[Tensor, Tensor], Tensor], a: Tensor, b: Tensor, kept: int, place: int) -> Tensor | None:
    """multiply(a, b) where both were dequantised: `a` by one scale, `b` by one or by one per index of its axis `kept`.

    That axis is the result's `place`, counted from the end. None where it cannot be done.
    """
    left, right = getattr(a, SCALED, None), getattr(b, SCALED, None)
    if left is None or right is None or left[1].numel() != 1:
        return None
    (whole, scale, _), (other, scales, axis) = left, right
    scale = scale.reshape(())
    if scales.numel() == 1:
        factor: Tensor = scale * scales.reshape(())
    elif axis == kept % b.dim():
        factor = (scale * scales).reshape([-1, *[1] * (-1 - place)])
    else:
        return None
    return multiply(whole, other) * factor
