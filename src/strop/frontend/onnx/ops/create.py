"""Tensors from nothing: constants, ranges, random numbers, windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from onnx import TensorProto
from torch import Tensor

from strop.frontend.onnx.element_types import dtype_of
from strop.frontend.onnx.ops import Unsupported, counters, ints, made, numbers, onnx, scalar


@onnx("Constant")
def constant(
    *, value: Any = None, sparse_value: Tensor | None = None, value_float: float | None = None,
    value_floats: Sequence[float] | None = None, value_int: int | None = None, value_ints: Sequence[int] | None = None,
    value_string: str | None = None, value_strings: Sequence[str] | None = None,
) -> Any:  # fmt: skip
    if value is not None:
        return value
    if sparse_value is not None:
        return sparse_value
    if value_string is not None:
        return np.array(value_string, dtype=object)
    if value_strings is not None:
        return np.array(list(value_strings), dtype=object)
    if value_float is not None or value_floats is not None:
        number: Any = value_float if value_float is not None else list(value_floats or ())
        return made(torch.tensor, number, dtype=torch.float32)
    if value_int is None and value_ints is None:
        raise Unsupported("a constant without a value")
    return made(torch.tensor, value_int if value_int is not None else list(value_ints or ()), dtype=torch.int64)


@onnx("ConstantOfShape")
def constant_of_shape(shape: Tensor, *, value: Tensor | None = None) -> Tensor:
    number = 0.0 if value is None else value.reshape(-1)[0].item()
    return torch.full(ints(shape, "the shape"), number, dtype=torch.float32 if value is None else value.dtype)


@onnx("Range")
def range_(start: Tensor, limit: Tensor, delta: Tensor, *, stash_type: int = 1) -> Tensor:
    counted = counters.between(start, limit, _step(delta))
    if counted is not None:
        return (
            torch.arange(counted, dtype=torch.int64)
            .mul(int(_step(delta)))
            .add(start.to(torch.int64).reshape(()))
            .to(start.dtype)
        )
    first, stop, step = (scalar(v, w) for v, w in ((start, "the start"), (limit, "the limit"), (delta, "the step")))
    if step == 0:
        raise Unsupported("a range with a step of zero")
    count = max(math.ceil((stop - first) / step), 0)
    if start.is_floating_point():
        wide = torch.float64 if start.dtype == torch.float64 else torch.float32
        return torch.arange(count, dtype=wide).mul(step).add(first).to(start.dtype)
    return torch.arange(count, dtype=torch.int64).mul(step).add(first).to(start.dtype)


def _step(delta: Tensor) -> float:
    """The step of a range over whole numbers, or 0 where it is not known."""
    value = numbers(delta) if not delta.is_floating_point() else None
    return float(value[0]) if value and len(value) == 1 else 0.0


@onnx("EyeLike")
def eye_like(x: Tensor, *, dtype: int | None = None, k: int = 0) -> Tensor:
    kind = x.dtype if dtype is None else _dtype(dtype)
    rows, columns = x.shape
    return torch.eq(torch.arange(columns) - torch.arange(rows).reshape(-1, 1), k).to(kind)


@onnx("OneHot")
def one_hot(indices: Tensor, depth: Tensor, values: Tensor, *, axis: int = -1) -> Tensor:
    """Indices outside of the depth give a row of off values."""
    count = int(scalar(depth, "the depth"))
    axis = axis + indices.dim() + 1 if axis < 0 else axis
    places = torch.arange(count).reshape([-1 if i == axis else 1 for i in range(indices.dim() + 1)])
    wanted = torch.remainder(indices.to(torch.int64), count)
    inside = (indices >= -count) & (indices < count)
    hot = (wanted.unsqueeze(axis) == places) & inside.unsqueeze(axis)
    return torch.where(hot, values[1], values[0])


# ---- random numbers: torch's own, so a seed means what torch.manual_seed makes of it ----


@onnx("RandomNormal")
def random_normal(
    *, shape: Sequence[int], dtype: int = TensorProto.FLOAT, mean: float = 0.0, scale: float = 1.0,
    seed: float | None = None,
) -> Tensor:  # fmt: skip
    return torch.randn(list(shape), dtype=_dtype(dtype)) * scale + mean


@onnx("RandomNormalLike")
def random_normal_like(
    x: Tensor, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> Tensor:
    return torch.randn(x.shape, dtype=x.dtype if dtype is None else _dtype(dtype)) * scale + mean


@onnx("RandomUniform")
def random_uniform(
    *, shape: Sequence[int], dtype: int = TensorProto.FLOAT, high: float = 1.0, low: float = 0.0,
    seed: float | None = None,
) -> Tensor:  # fmt: skip
    return torch.rand(list(shape), dtype=_dtype(dtype)) * (high - low) + low


@onnx("RandomUniformLike")
def random_uniform_like(
    x: Tensor, *, dtype: int | None = None, high: float = 1.0, low: float = 0.0, seed: float | None = None
) -> Tensor:
    return torch.rand(x.shape, dtype=x.dtype if dtype is None else _dtype(dtype)) * (high - low) + low


@onnx("Bernoulli")
def bernoulli(x: Tensor, *, dtype: int | None = None, seed: float | None = None) -> Tensor:
    return (torch.rand(x.shape, dtype=x.dtype) < x).to(x.dtype if dtype is None else _dtype(dtype))


@onnx("Multinomial")
def multinomial(
    x: Tensor, *, dtype: int = TensorProto.INT32, sample_size: int = 1, seed: float | None = None
) -> Tensor:
    return torch.multinomial(torch.softmax(x, -1), sample_size, replacement=True).to(_dtype(dtype))


def _dtype(element_type: int) -> torch.dtype:
    found = dtype_of(element_type)
    if found is None:
        raise Unsupported(f"the element type {element_type}")
    return found
