"""Counters: numbers that only a call brings, but whose distances are known while capturing.

A loop that writes its i-th row takes the slice from i to min(extent, i + 1) and the range from i to there. How long
both are follows from the distance alone, so that one program serves every round. That the smaller one is i + 1, and
that i is a place, is checked when the program runs: an index out of range raises, and the model runs step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, NamedTuple

import torch
from torch import Tensor

from strop.frontend.onnx.context import deferring
from strop.frontend.onnx.ops import known, made, scalar

#: the attribute under which a number keeps what it was counted from
_COUNTED = "_strop_counted"
_SAME = frozenset(("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten"))


class Counter(NamedTuple):
    base: Tensor
    offset: int


def counter(x: Any) -> Counter | None:
    """What is known of a single number that a call brings."""
    if not deferring() or not isinstance(x, Tensor) or x.numel() != 1 or known(x) is not None:
        return None
    found: Counter | None = getattr(x, _COUNTED, None)
    if found is None and x.dtype in (torch.int32, torch.int64):
        return Counter(x, 0)
    return found


def noted(op: str, inputs: Sequence[Any], result: Any) -> Any:
    """The result of a step, with what it has to do with the counters that went into it."""
    if not isinstance(result, Tensor) or result.numel() != 1 or not inputs or known(result) is not None:
        return result
    found = None
    if op in _SAME:
        found = counter(inputs[0])
    elif op in ("Add", "Sub", "Min") and len(inputs) == 2:
        counted, number = counter(inputs[0]), _number(inputs[1])
        if counted is None and op != "Sub":
            counted, number = counter(inputs[1]), _number(inputs[0])
        if counted is None or number is None:
            return result
        if op == "Min":
            result = _checked(inputs[0] if known(inputs[0]) is None else inputs[1], number).reshape(result.shape)
            found = counted
        else:
            found = Counter(counted.base, counted.offset + (number if op == "Add" else -number))
    if found is not None:
        setattr(result, _COUNTED, found)
    return result


def _number(x: Any) -> int | None:
    value = known(x) if isinstance(x, Tensor) else None
    if value is None or value.numel() != 1:
        return None
    number = scalar(value)
    return int(number) if float(number).is_integer() else None


def _checked(x: Tensor, most: int) -> Tensor:
    """x, which has to lie in 0 … most."""
    place = x.to(torch.int64).reshape(1)
    nothing = made(torch.zeros, max(most, 0) + 1, dtype=torch.int64)
    return x + nothing.index_select(0, torch.where(place < 0, most + 1, place)).reshape(x.shape).to(x.dtype)


def between(start: Tensor, end: Tensor, step: float = 1) -> int | None:
    """How many steps lead from one counter to another; None where they were not counted from the same number."""
    first, last = counter(start), counter(end)
    if first is None or last is None or first.base is not last.base or not step:
        return None
    return max(ceil((last.offset - first.offset) / step), 0)


def sliced(x: Tensor, start: Tensor, end: Tensor, axis: int) -> Tensor | None:
    """x[start:end] along an axis, or None where the length is not known."""
    length = between(start, end)
    if length is None or not 0 < length <= x.shape[axis]:
        return None
    first = _checked(start, x.shape[axis] - length).to(torch.int64).reshape(())
    return x.index_select(axis, torch.arange(length) + first)
