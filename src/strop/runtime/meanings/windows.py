"""What pooling and resampling compute."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
import torch.nn.functional as F

from strop.graph.ir import Node
from strop.runtime.meanings import Meaning, means

Tensor = torch.Tensor


def _ceil_mode(node: Node, x: Tensor) -> bool:
    """Whether the node's extents are those of windows that may hang over the end."""
    kernel, stride, padding = (node.attrs[name] for name in ("kernel", "stride", "padding"))
    dilation = node.attrs.get("dilation") or (1,) * len(kernel)
    floors = [
        (extent + before + after - d * (k - 1) - 1) // s + 1
        for extent, k, s, (before, after), d in zip(x.shape[2:], kernel, stride, padding, dilation)
    ]
    return tuple(floors) != node.shape[2:]


@means("max_pool")
def max_pool(
    node: Node, x: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> Tensor:  # fmt: skip
    functions: dict[int, Meaning] = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
    even = [before for before, _ in padding]
    result = functions[len(kernel)](x, list(kernel), list(stride), even, list(dilation), _ceil_mode(node, x))
    return _tensor(result)


@means("max_pool_indices")
def max_pool_indices(
    node: Node, x: Tensor, y: Tensor, kernel: Sequence[int], stride: Sequence[int],
    padding: Sequence[tuple[int, int]], dilation: Sequence[int],
) -> Tensor:  # fmt: skip
    even = [before for before, _ in padding]
    pool = {2: torch.ops.aten.max_pool2d_with_indices, 3: torch.ops.aten.max_pool3d_with_indices}[len(kernel)]
    return _tensor(pool(x, list(kernel), list(stride), even, list(dilation), _ceil_mode(node, x))[1])


@means("max_pool_backward")
def max_pool_backward(
    node: Node, dy: Tensor, indices: Tensor, kernel: Sequence[int], stride: Sequence[int],
    padding: Sequence[tuple[int, int]], dilation: Sequence[int],
) -> Tensor:  # fmt: skip
    space = -len(kernel)
    flat = dy.new_zeros((*node.shape[:space], prod(node.shape[space:])))
    return flat.scatter_add_(-1, indices.flatten(space), dy.flatten(space)).reshape(node.shape)


@means("avg_pool")
def avg_pool(
    node: Node, x: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[tuple[int, int]],
    count_include_pad: bool, divisor: int | None,
) -> Tensor:  # fmt: skip
    even = [before for before, _ in padding]
    ceil = _ceil_mode(node, x)
    if len(kernel) == 1:
        return F.avg_pool1d(x, list(kernel), list(stride), even, ceil, count_include_pad)
    function: Meaning = F.avg_pool2d if len(kernel) == 2 else F.avg_pool3d
    return _tensor(function(x, list(kernel), list(stride), even, ceil, count_include_pad, divisor))


@means("adaptive_avg_pool", "adaptive_max_pool")
def adaptive_pool(node: Node, x: Tensor) -> Tensor:
    kind = "avg" if node.op == "adaptive_avg_pool" else "max"
    function = getattr(F, f"adaptive_{kind}_pool{x.dim() - 2}d")
    return _tensor(function(x, node.shape[2:]))


@means("upsample_nearest")
def upsample_nearest(node: Node, x: Tensor, scales: Sequence[float], exact: bool) -> Tensor:
    prefix = "_upsample_nearest_exact" if exact else "upsample_nearest"
    operator = getattr(torch.ops.aten, f"{prefix}{len(scales)}d").default
    return _tensor(operator(x, list(node.shape[2:]), *(1 / s for s in scales)))


@means("upsample_linear")
def upsample_linear(node: Node, x: Tensor, align_corners: bool, scales: Sequence[float]) -> Tensor:
    name = {1: "upsample_linear1d", 2: "upsample_bilinear2d", 3: "upsample_trilinear3d"}[len(scales)]
    factors = [None] * len(scales) if align_corners else [1 / s for s in scales]
    return _tensor(getattr(torch.ops.aten, name).default(x, list(node.shape[2:]), align_corners, *factors))


@means("grid_sample")
def grid_sample(node: Node, x: Tensor, grid: Tensor, mode: str, padding: str, align_corners: bool) -> Tensor:
    return F.grid_sample(x, grid, mode, padding, align_corners)


def _tensor(value: Any) -> Tensor:
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"expected a tensor, got {type(value).__name__}")
    return value
