"""Reductions, scans and the rows of softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strop.core.dtypes import is_float
from strop.frontend.torch.aten.views import wrap
from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import Unfit, aten
from strop.graph.ir import Node, Type

Dims = int | Sequence[int] | None


def every(x: Node, dims: Dims) -> tuple[int, ...]:
    """The dimensions meant: None or an empty list is all of them."""
    if isinstance(dims, int):
        dims = (dims,)
    if not dims or not x.type.rank:
        return tuple(range(x.type.rank))
    return tuple(sorted(wrap(d, x.type.rank) for d in dims))


def _reduced(b: Builder, op: str, x: Node, dims: Dims, keepdim: bool) -> Node:
    return b.reduce(op, b.cast(x, b.call.dtype), every(x, dims), keepdim)


@aten("sum")
def sum_all(b: Builder, x: Node, dtype: Any = None) -> Node:
    return _reduced(b, "sum", x, None, False)


@aten("sum.dim_IntList")
def sum_dims(b: Builder, x: Node, dims: Dims, keepdim: bool = False, dtype: Any = None) -> Node:
    return _reduced(b, "sum", x, dims, keepdim)


@aten("mean")
def mean_all(b: Builder, x: Node, dtype: Any = None) -> Node:
    return _reduced(b, "mean", x, None, False)


@aten("mean.dim")
def mean_dims(b: Builder, x: Node, dims: Dims, keepdim: bool = False, dtype: Any = None) -> Node:
    return _reduced(b, "mean", x, dims, keepdim)


@aten("prod")
def prod_all(b: Builder, x: Node, dtype: Any = None) -> Node:
    return _reduced(b, "prod", x, None, False)


@aten("prod.dim_int")
def prod_dim(b: Builder, x: Node, dim: int, keepdim: bool = False, dtype: Any = None) -> Node:
    return _reduced(b, "prod", x, dim, keepdim)


@aten("amax")
def amax(b: Builder, x: Node, dims: Dims = (), keepdim: bool = False) -> Node:
    return _extreme(b, "amax", x, every(x, dims), keepdim)


@aten("amin")
def amin(b: Builder, x: Node, dims: Dims = (), keepdim: bool = False) -> Node:
    return _extreme(b, "amin", x, every(x, dims), keepdim)


@aten("max")
def max_all(b: Builder, x: Node) -> Node:
    return _extreme(b, "amax", x, every(x, None), False)


@aten("min")
def min_all(b: Builder, x: Node) -> Node:
    return _extreme(b, "amin", x, every(x, None), False)


@aten("aminmax")
def aminmax(b: Builder, x: Node, dim: int | None = None, keepdim: bool = False) -> tuple[Node, ...]:
    dims = tuple(range(x.type.rank)) if dim is None else every(x, dim)
    return _extreme(b, "amin", x, dims, keepdim), _extreme(b, "amax", x, dims, keepdim)


@aten("max.dim")
def max_dim(b: Builder, x: Node, dim: int, keepdim: bool = False) -> tuple[Node, ...]:
    return _extreme(b, "amax", x, every(x, dim), keepdim), argmax(b, x, dim, keepdim)


@aten("min.dim")
def min_dim(b: Builder, x: Node, dim: int, keepdim: bool = False) -> tuple[Node, ...]:
    return _extreme(b, "amin", x, every(x, dim), keepdim), argmin(b, x, dim, keepdim)


def _extreme(b: Builder, op: str, x: Node, dims: tuple[int, ...], keepdim: bool) -> Node:
    """On booleans the largest is `any`, the smallest `all`."""
    _some(x, dims)
    if x.dtype == "bool":
        op = {"amax": "any", "amin": "all"}[op]
    return b.reduce(op, x, dims, keepdim) if dims else x


def _some(x: Node, dims: tuple[int, ...]) -> None:
    """No elements have no largest one; the library raises as eager does."""
    if any(x.shape[d] == 0 for d in dims):
        raise Unfit("the largest or smallest of no elements")


@aten("argmax")
def argmax(b: Builder, x: Node, dim: int | None = None, keepdim: bool = False) -> Node:
    return _place(b, "argmax", x, dim, keepdim)


@aten("argmin")
def argmin(b: Builder, x: Node, dim: int | None = None, keepdim: bool = False) -> Node:
    return _place(b, "argmin", x, dim, keepdim)


def _place(b: Builder, op: str, x: Node, dim: int | None, keepdim: bool) -> Node:
    x = b.cast(x, "i32") if x.dtype == "bool" else x
    if not x.type.rank:
        return b.full(0, "i64")
    dim = None if dim is None else wrap(dim, x.type.rank)
    reduced = tuple(range(x.type.rank)) if dim is None else (dim,)
    _some(x, reduced)
    shape = tuple(1 if d in reduced else e for d, e in enumerate(x.shape) if keepdim or d not in reduced)
    return b.node(op, (x,), Type("i64", shape), dim=dim, keepdim=bool(keepdim))


@aten("any", "any.dim", "any.dims")
def any_(b: Builder, x: Node, dims: Dims = None, keepdim: bool = False) -> Node:
    return _logical(b, "any", x, dims, keepdim)


@aten("all", "all.dim", "all.dims")
def all_(b: Builder, x: Node, dims: Dims = None, keepdim: bool = False) -> Node:
    return _logical(b, "all", x, dims, keepdim)


def _logical(b: Builder, op: str, x: Node, dims: Dims, keepdim: bool) -> Node:
    if isinstance(dims, (tuple, list)) and not dims:
        return b.cast(x, "bool")
    return b.cast(b.reduce(op, b.cast(x, "bool"), every(x, dims), keepdim), b.call.dtype)


@aten("count_nonzero", "count_nonzero.dim_IntList")
def count_nonzero(b: Builder, x: Node, dims: Dims = None) -> Node:
    return b.reduce("sum", b.cast(b.cast(x, "bool"), "i64"), every(x, dims))


# spread


def _var(b: Builder, x: Node, dims: Dims, correction: float | None, keepdim: bool) -> Node:
    """In f64, as eager does: squares of what f32 holds may be too large for it, or too small, and a mean that is off by
    one digit makes a variance where there is none."""
    amount = 1 if correction is None else correction
    return b.reduce("var", _wide(b, x), every(x, dims), keepdim, correction=amount)


@aten("var.correction")
def var(b: Builder, x: Node, dims: Dims = None, correction: float | None = None, keepdim: bool = False) -> Node:
    return b.cast(_var(b, x, dims, correction, keepdim), x.dtype)


@aten("std.correction")
def std(b: Builder, x: Node, dims: Dims = None, correction: float | None = None, keepdim: bool = False) -> Node:
    return b.cast(b.unary("sqrt", _var(b, x, dims, correction, keepdim)), x.dtype)


def _wide(b: Builder, x: Node) -> Node:
    return b.cast(x, "f64") if x.dtype == "f32" else x


@aten("var_mean.correction")
def var_mean(
    b: Builder, x: Node, dims: Dims = None, correction: float | None = None, keepdim: bool = False
) -> tuple[Node, ...]:
    variance, mean = _moments(b, x, dims, correction, keepdim)
    return b.cast(variance, x.dtype), b.cast(mean, x.dtype)


@aten("std_mean.correction")
def std_mean(
    b: Builder, x: Node, dims: Dims = None, correction: float | None = None, keepdim: bool = False
) -> tuple[Node, ...]:
    variance, mean = _moments(b, x, dims, correction, keepdim)
    return b.cast(b.unary("sqrt", variance), x.dtype), b.cast(mean, x.dtype)


def _moments(b: Builder, x: Node, dims: Dims, correction: float | None, keepdim: bool) -> tuple[Node, Node]:
    """Variance and mean. Where both are wanted, as by batch norm, the mean is computed once, and the variance is the
    mean of squared distances to it: two passes over the tensor instead of three."""
    along, wide = every(x, dims), _wide(b, x)
    if not {0, 1} <= b.call.used or correction != 0:
        return _var(b, x, dims, correction, keepdim), b.reduce("mean", wide, along, keepdim)
    mean = b.reduce("mean", wide, along, True)
    distance = b.sub(wide, mean)
    variance = b.reduce("mean", b.mul(distance, distance), along, keepdim)
    return variance, mean if keepdim else b.reshape(mean, variance.shape)


# scans


@aten("cumsum")
def cumsum(b: Builder, x: Node, dim: int, dtype: Any = None) -> Node:
    return _scan(b, "cumsum", x, dim)


@aten("cumprod")
def cumprod(b: Builder, x: Node, dim: int, dtype: Any = None) -> Node:
    return _scan(b, "cumprod", x, dim)


def _scan(b: Builder, op: str, x: Node, dim: int) -> Node:
    x = b.cast(x, b.call.dtype)
    return b.unary(op, x, dim=wrap(dim, x.type.rank)) if x.type.rank else x


# rows


@aten("softmax.int", "_softmax", "special_softmax")
def softmax(b: Builder, x: Node, dim: int, dtype: Any = None) -> Node:
    return _row(b, "softmax", x, dim)


@aten("log_softmax.int", "_log_softmax", "special_log_softmax")
def log_softmax(b: Builder, x: Node, dim: int, dtype: Any = None) -> Node:
    return _row(b, "log_softmax", x, dim)


def _row(b: Builder, op: str, x: Node, dim: int) -> Node:
    if not is_float(b.call.dtype):
        raise Unfit(f"`{op}` of integers")
    x = b.cast(x, b.call.dtype)
    if not x.type.rank:
        return b.reshape(b.unary(op, b.reshape(x, (1,)), dim=0), ())
    return b.unary(op, x, dim=wrap(dim, x.type.rank))
