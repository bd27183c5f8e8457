"""Tensors from nothing, and triangles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import Operand, Unfit, aten
from strop.graph.ir import Node


@aten("zeros", "zeros_like", "new_zeros", "empty.memory_format", "empty_like", "new_empty", "empty_strided",
      "new_empty_strided", "_efficientzerotensor", "empty_permuted")  # fmt: skip
def zeros(b: Builder, *_: Any) -> Node:
    """Uninitialised memory may hold anything, zeros too."""
    return b.full(0, b.call.dtype, b.call.shape)


@aten("ones", "ones_like", "new_ones")
def ones(b: Builder, *_: Any) -> Node:
    return b.full(1, b.call.dtype, b.call.shape)


@aten("new_full")
def new_full(b: Builder, _: Node, size: Sequence[int], value: float, *__: Any) -> Node:
    return b.full(value, b.call.dtype, b.call.shape)


@aten("full", "full_like")
def full(b: Builder, _: Any, value: float, *__: Any) -> Node:
    return b.full(value, b.call.dtype, b.call.shape)


@aten("fill.Scalar", "fill.Tensor")
def fill(b: Builder, x: Node, value: Operand) -> Node:
    return b.expand(b.operand(value, x.dtype), x.shape)


@aten("copy")
def copy(b: Builder, x: Node, src: Node, non_blocking: bool = False) -> Node:
    return b.expand(b.cast(src, x.dtype), x.shape)


@aten("scalar_tensor")
def scalar_tensor(b: Builder, value: float, *_: Any) -> Node:
    return b.full(value, b.call.dtype)


@aten("arange")
def arange(b: Builder, stop: float, *_: Any) -> Node:
    return b.arange(b.call.shape[0], 0, 1, b.call.dtype)


@aten("arange.start")
def arange_start(b: Builder, start: float, stop: float, *_: Any) -> Node:
    return b.arange(b.call.shape[0], start, 1, b.call.dtype)


@aten("arange.start_step")
def arange_step(b: Builder, start: float, stop: float, step: float = 1, *_: Any) -> Node:
    return b.arange(b.call.shape[0], start, step, b.call.dtype)


@aten("eye", "eye.m")
def eye(b: Builder, *_: Any) -> Node:
    rows, columns = b.call.shape
    diagonal = b.compare("eq", b.reshape(b.arange(rows), (rows, 1)), b.arange(columns))
    return b.cast(diagonal, b.call.dtype)


@aten("tril")
def tril(b: Builder, x: Node, diagonal: int = 0) -> Node:
    return b.where(_side(b, x.shape, diagonal, "le"), x, b.full(0, x.dtype))


@aten("triu")
def triu(b: Builder, x: Node, diagonal: int = 0) -> Node:
    return b.where(_side(b, x.shape, diagonal, "ge"), x, b.full(0, x.dtype))


def _side(b: Builder, shape: Sequence[int], diagonal: int, side: str) -> Node:
    """column - row ≤ or ≥ diagonal."""
    rows, columns = shape[-2:]
    row = b.reshape(b.arange(rows, diagonal), (rows, 1))
    return b.compare(side, b.arange(columns), row)


@aten("linspace")
def linspace(b: Builder, start: float, stop: float, steps: int, *_: Any) -> Node:
    """From both ends to the middle, as eager does, so that the last element is `stop` exactly."""
    dtype = b.call.dtype
    if dtype not in ("f32", "f64"):
        return linspace_of_integers(b, start, stop, steps)
    if steps == 1:
        return b.full(start, dtype, (1,))
    step = (stop - start) / (steps - 1) if steps else 0.0
    place = b.arange(steps)
    forward = b.add(b.mul(b.cast(place, dtype), step), start)
    backward = b.sub(stop, b.mul(b.cast(b.sub(steps - 1, place), dtype), step))
    return b.where(b.compare("lt", place, steps // 2), forward, backward) if math.isfinite(step) else forward


@aten("linspace.Tensor_Tensor", "linspace.Tensor_Scalar", "linspace.Scalar_Tensor")
def linspace_of_integers(b: Builder, start: Node | float, stop: Node | float, steps: int, *_: Any) -> Node:
    """In f64 between ends that are integers already, as eager does; torch's decomposition takes f32."""
    dtype = b.call.dtype
    if dtype not in ("i32", "i64"):
        raise Unfit("linspace between tensors")
    first, last = (
        b.cast(b.cast(end, dtype), "f64") if isinstance(end, Node) else b.full(int(end), "f64") for end in (start, stop)
    )
    if steps == 1:
        return b.reshape(b.cast(first, dtype), (1,))
    step = b.div(b.sub(last, first), max(steps - 1, 1))
    place = b.arange(steps)
    forward = b.add(b.mul(b.cast(place, "f64"), step), first)
    backward = b.sub(last, b.mul(b.cast(b.sub(steps - 1, place), "f64"), step))
    return b.cast(b.where(b.compare("lt", place, steps // 2), forward, backward), dtype)
