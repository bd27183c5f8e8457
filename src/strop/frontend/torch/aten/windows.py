"""Pooling and resampling: operators whose result looks at windows of the input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strop.core.dtypes import is_float
from strop.frontend.torch.aten.nn import Sizes, per_dimension
from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import Unfit, aten
from strop.graph.ir import Node, Type


def _windowed(b: Builder, op: str, x: Node, space: int, **attrs: Any) -> Node:
    """Input without a batch dimension gains one that the result loses again."""
    if x.type.rank == space + 2:
        return b.node(op, (x,), Type(x.dtype, b.call.shape), **attrs)
    inner = b.node(op, (b.unsqueeze(x, 0),), Type(x.dtype, (1, *b.call.shape)), **attrs)
    return b.reshape(inner, b.call.shape)


def _pool(b: Builder, op: str, x: Node, kernel: Sizes, stride: Sizes, padding: Sizes, **attrs: Any) -> Node:
    if not is_float(x.dtype):
        raise Unfit("pooling of integers")
    space = int(b.call.target.split("pool")[1][0])
    kernel = per_dimension(kernel, space)
    stride = per_dimension(stride, space) if stride or isinstance(stride, int) else kernel
    pads = tuple((p, p) for p in per_dimension(padding, space))
    return _windowed(b, op, x, space, kernel=kernel, stride=stride, padding=pads, **attrs)


@aten("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(
    b: Builder, x: Node, kernel: Sizes, stride: Sizes = (), padding: Sizes = 0, dilation: Sizes = 1, ceil: bool = False
) -> Node:
    space = int(b.call.target.split("pool")[1][0])
    return _pool(b, "max_pool", x, kernel, stride, padding, dilation=per_dimension(dilation, space))


@aten("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool_with_indices(
    b: Builder, x: Node, kernel: Sizes, stride: Sizes = (), padding: Sizes = 0, dilation: Sizes = 1, ceil: bool = False
) -> tuple[Node, ...]:
    out = max_pool(b, x, kernel, stride, padding, dilation, ceil)
    if 1 not in b.call.used:
        return out, out
    if out.op != "max_pool":
        raise Unfit("the indices of max_pool without a batch dimension")
    return out, b.node("max_pool_indices", (x, out), Type("i64", out.shape), **out.attrs)


@aten("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    b: Builder, x: Node, kernel: Sizes, stride: Sizes = (), padding: Sizes = 0, ceil: bool = False,
    include_pad: bool = True, divisor: int | None = None,
) -> Node:  # fmt: skip
    return _pool(b, "avg_pool", x, kernel, stride, padding, count_include_pad=bool(include_pad), divisor=divisor)


@aten("adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_avg_pool3d",
      "_adaptive_avg_pool3d")  # fmt: skip
def adaptive_avg_pool(b: Builder, x: Node, size: Sequence[int]) -> Node:
    return _adaptive(b, "adaptive_avg_pool", x)


@aten("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(b: Builder, x: Node, size: Sequence[int]) -> tuple[Node, ...]:
    if 1 in b.call.used:
        raise Unfit("the indices of adaptive_max_pool")
    out = _adaptive(b, "adaptive_max_pool", x)
    return out, out


def _adaptive(b: Builder, op: str, x: Node) -> Node:
    space = int(b.call.target.split("pool")[1][0])
    if not is_float(x.dtype):
        raise Unfit("pooling of integers")
    if op == "adaptive_avg_pool" and all(extent == 1 for extent in b.call.shape[-space:]):
        dims = range(x.type.rank - space, x.type.rank)
        return b.reduce("mean", x, tuple(dims), keepdim=True)
    return _windowed(b, op, x, space)


# resampling


def _nearest(b: Builder, x: Node, scales: Sequence[float | None], exact: bool) -> Node:
    space = x.type.rank - 2
    ratios = tuple(
        1 / scale if scale else source / target
        for source, target, scale in zip(x.shape[2:], b.call.shape[2:], _filled(scales, space))
    )
    return b.node("upsample_nearest", (x,), Type(x.dtype, b.call.shape), scales=ratios, exact=exact)


def _linear(b: Builder, x: Node, align_corners: bool, scales: Sequence[float | None]) -> Node:
    space = x.type.rank - 2
    ratios = []
    for source, target, scale in zip(x.shape[2:], b.call.shape[2:], _filled(scales, space)):
        if align_corners:
            ratios.append((source - 1) / (target - 1) if target > 1 else 0.0)
        else:
            ratios.append(1 / scale if scale else source / target)
    return b.node("upsample_linear", (x,), Type(x.dtype, b.call.shape), align_corners=bool(align_corners),
                  scales=tuple(ratios))  # fmt: skip


def _filled(scales: Sequence[float | None] | None, space: int) -> Sequence[float | None]:
    return scales or [None] * space


def _checked(x: Node) -> None:
    if not is_float(x.dtype):
        raise Unfit("resampling of integers")


@aten("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def nearest(b: Builder, x: Node, size: Sequence[int], *scales: float | None) -> Node:
    _checked(x)
    return _nearest(b, x, scales, exact=False)


@aten("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d")
def nearest_exact(b: Builder, x: Node, size: Sequence[int], *scales: float | None) -> Node:
    _checked(x)
    return _nearest(b, x, scales, exact=True)


@aten("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec")
def nearest_vec(b: Builder, x: Node, size: Sequence[int] | None, scales: Sequence[float] | None) -> Node:
    _checked(x)
    return _nearest(b, x, scales or (), exact=False)


@aten("_upsample_nearest_exact1d.vec", "_upsample_nearest_exact2d.vec", "_upsample_nearest_exact3d.vec")
def nearest_exact_vec(b: Builder, x: Node, size: Sequence[int] | None, scales: Sequence[float] | None) -> Node:
    _checked(x)
    return _nearest(b, x, scales or (), exact=True)


@aten("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
def linear(b: Builder, x: Node, size: Sequence[int], align_corners: bool, *scales: float | None) -> Node:
    _checked(x)
    return _linear(b, x, align_corners, scales)


@aten("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec")
def linear_vec(
    b: Builder, x: Node, size: Sequence[int] | None, align_corners: bool, scales: Sequence[float] | None
) -> Node:
    _checked(x)
    return _linear(b, x, align_corners, scales or ())


@aten("grid_sampler", "grid_sampler_2d")
def grid_sample(b: Builder, x: Node, grid: Node, mode: int, padding: int, align_corners: bool) -> Node:
    kinds = {0: "bilinear", 1: "nearest"}, {0: "zeros", 1: "border"}
    if mode not in kinds[0] or padding not in kinds[1] or x.type.rank != 4 or grid.dtype != x.dtype:
        raise Unfit("cubic or reflecting sampling, or sampling of a volume")
    return b.node("grid_sample", (x, grid), b.call.types[0], mode=kinds[0][mode], padding=kinds[1][padding],
                  align_corners=bool(align_corners))  # fmt: skip
