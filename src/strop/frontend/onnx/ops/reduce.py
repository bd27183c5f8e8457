"""Reductions along axes, and running sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from strop.frontend.onnx.ops import Unsupported, ints, onnx, scalar

Reduction = Callable[[Tensor, list[int], bool], Tensor]


def _widened(x: Tensor) -> Tensor:
    return x if x.is_floating_point() else x.to(torch.float64)


def _extreme(reduce: Callable[..., Tensor], largest: bool) -> Reduction:
    def run(x: Tensor, dims: list[int], keepdim: bool) -> Tensor:
        if all(x.shape[d] for d in dims):
            return reduce(x, dims, keepdim) if dims else x
        if x.is_floating_point():
            neutral: float | int | bool = float("-inf") if largest else float("inf")
        elif x.dtype == torch.bool:
            neutral = not largest
        else:
            info = torch.iinfo(x.dtype)
            neutral = info.min if largest else info.max
        shape = [1 if d in dims else extent for d, extent in enumerate(x.shape)]
        return torch.full([e for d, e in enumerate(shape) if keepdim or d not in dims], neutral, dtype=x.dtype)

    return run


def _prod(x: Tensor, dims: list[int], keepdim: bool) -> Tensor:
    for dim in sorted(dims, reverse=True):
        x = torch.prod(x, dim, keepdim, dtype=x.dtype)
    return x


def _sum(x: Tensor, dims: list[int], keepdim: bool) -> Tensor:
    return torch.sum(x, dims, keepdim, dtype=x.dtype) if dims else x


def _mean(x: Tensor, dims: list[int], keepdim: bool) -> Tensor:
    if not dims:
        return x
    if x.is_floating_point():
        return torch.mean(x, dims, keepdim)
    return torch.mean(x.to(torch.float64), dims, keepdim).to(x.dtype)


def _log_sum_exp(x: Tensor, dims: list[int], keepdim: bool) -> Tensor:
    if not dims:
        return x
    if not all(x.shape[d] for d in dims):
        return torch.log(torch.sum(torch.exp(x), dims, keepdim))
    return torch.logsumexp(_widened(x), dims, keepdim).to(x.dtype)


_REDUCTIONS: dict[str, Reduction] = {
    "ReduceMean": _mean,
    "ReduceProd": _prod,
    "ReduceMax": _extreme(torch.amax, True),
    "ReduceMin": _extreme(torch.amin, False),
    "ReduceL1": lambda x, dims, keepdim: _sum(torch.abs(x), dims, keepdim),
    "ReduceL2": lambda x, dims, keepdim: torch.sqrt(_sum(_widened(x) * _widened(x), dims, keepdim)).to(x.dtype),
    "ReduceLogSum": lambda x, dims, keepdim: torch.log(_sum(_widened(x), dims, keepdim)).to(x.dtype),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceSumSquare": lambda x, dims, keepdim: _sum(x * x, dims, keepdim),
}


def _reduced(
    reduction: Reduction, x: Tensor, axes: Sequence[int] | None, keepdims: int, noop_with_empty_axes: int
) -> Tensor:
    chosen = sorted({axis % max(x.dim(), 1) for axis in axes}) if axes else []
    if not chosen and not noop_with_empty_axes:
        chosen = list(range(x.dim()))
    return reduction(x, chosen, bool(keepdims))


def _by_attribute(reduction: Reduction) -> Callable[..., Tensor]:
    def reduce(x: Tensor, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> Tensor:
        return _reduced(reduction, x, axes, keepdims, 0)

    return reduce


def _by_input(reduction: Reduction) -> Callable[..., Tensor]:
    def reduce(x: Tensor, axes: Tensor | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Tensor:
        chosen = None if axes is None else ints(axes, "the axes")
        return _reduced(reduction, x, chosen, keepdims, noop_with_empty_axes)

    return reduce


for _name, _reduction in _REDUCTIONS.items():
    onnx(_name, until=17)(_by_attribute(_reduction))
    onnx(_name, since=18)(_by_input(_reduction))
onnx("ReduceSum", until=12)(_by_attribute(_sum))
onnx("ReduceSum", since=13)(_by_input(_sum))


def _arg(find: Callable[..., Tensor], x: Tensor, axis: int, keepdims: int, select_last_index: int) -> Tensor:
    if not x.dim():
        return torch.zeros((), dtype=torch.int64)
    if not select_last_index:
        return find(x, axis, bool(keepdims))
    return x.shape[axis] - 1 - find(x.flip([axis]), axis, bool(keepdims))


@onnx("ArgMax")
def arg_max(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
    return _arg(torch.argmax, x, axis, keepdims, select_last_index)


@onnx("ArgMin")
def arg_min(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
    return _arg(torch.argmin, x, axis, keepdims, select_last_index)


def _running(run: Callable[..., Tensor], x: Tensor, axis: int, neutral: float, exclusive: int, reverse: int) -> Tensor:
    if not -x.dim() <= axis < x.dim():
        raise Unsupported(f"axis {axis} of a tensor with {x.dim()} dimensions")
    if reverse:
        x = x.flip([axis])
    result = run(x, axis, dtype=x.dtype)
    if exclusive:
        first = torch.full_like(x.narrow(axis, 0, min(1, x.shape[axis])), neutral)
        result = torch.cat([first, result.narrow(axis, 0, max(x.shape[axis] - 1, 0))], axis)
    return result.flip([axis]) if reverse else result


@onnx("CumSum")
def cum_sum(x: Tensor, axis: Tensor, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
    return _running(torch.cumsum, x, int(scalar(axis, "the axis")), 0, exclusive, reverse)


@onnx("CumProd")
def cum_prod(x: Tensor, axis: Tensor, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
    return _running(torch.cumprod, x, int(scalar(axis, "the axis")), 1, exclusive, reverse)
