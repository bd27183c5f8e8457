"""What reductions, scans, softmax and norms compute."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from strop.frontend.torch.dtypes import DTYPES
from strop.graph.ir import Node
from strop.runtime.meanings import means

Tensor = torch.Tensor


def _folded(x: Tensor, dims: Sequence[int], keepdim: bool) -> tuple[Tensor, list[int]]:
    """The reduced dimensions made one, at the end: what operators of a single dimension need."""
    kept = [d for d in range(x.dim()) if d not in dims]
    shape = [1 if d in dims else x.shape[d] for d in range(x.dim())] if keepdim else [x.shape[d] for d in kept]
    extent = 1
    for d in dims:
        extent *= x.shape[d]
    return x.permute([*kept, *dims]).reshape(*(x.shape[d] for d in kept), extent), shape


@means("sum", "mean")
def total(node: Node, x: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    if not dims:
        return x
    function = torch.sum if node.op == "sum" else torch.mean
    return function(x, list(dims), keepdim, dtype=DTYPES[node.dtype])


@means("prod", "any", "all")
def folded(node: Node, x: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    rows, shape = _folded(x, dims, keepdim)
    if node.op == "prod":
        return torch.prod(rows, -1, dtype=DTYPES[node.dtype]).reshape(shape)
    return (rows.any(-1) if node.op == "any" else rows.all(-1)).reshape(shape)


@means("amax", "amin")
def extreme(node: Node, x: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    return torch.amax(x, list(dims), keepdim) if node.op == "amax" else torch.amin(x, list(dims), keepdim)


@means("argmax", "argmin")
def place(node: Node, x: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    function = torch.argmax if node.op == "argmax" else torch.argmin
    return function(x, dim, keepdim).reshape(node.shape)


@means("var")
def var(node: Node, x: Tensor, dims: Sequence[int], correction: float, keepdim: bool) -> Tensor:
    if not x.dim():
        return torch.var(x, correction=correction)
    return torch.var(x, list(dims), correction=correction, keepdim=keepdim)


@means("cumsum", "cumprod")
def scan(node: Node, x: Tensor, dim: int) -> Tensor:
    function = torch.cumsum if node.op == "cumsum" else torch.cumprod
    return function(x, dim, dtype=x.dtype)


@means("softmax", "log_softmax")
def softmax(node: Node, x: Tensor, dim: int) -> Tensor:
    return F.softmax(x, dim) if node.op == "softmax" else F.log_softmax(x, dim)


def _scale_and_shift(has_weight: bool, has_bias: bool, rest: Sequence[Tensor]) -> tuple[Tensor | None, Tensor | None]:
    given = iter(rest)
    return (next(given) if has_weight else None), (next(given) if has_bias else None)


@means("layer_norm")
def layer_norm(node: Node, x: Tensor, *rest: Tensor, axes: int, eps: float, has_weight: bool, has_bias: bool) -> Tensor:
    weight, bias = _scale_and_shift(has_weight, has_bias, rest)
    return F.layer_norm(x, x.shape[x.dim() - axes :], weight, bias, eps)


@means("rms_norm")
def rms_norm(node: Node, x: Tensor, *rest: Tensor, axes: int, eps: float, has_weight: bool, offset: float) -> Tensor:
    dims = list(range(x.dim() - axes, x.dim()))
    normal = x * torch.rsqrt((x * x).mean(dims, keepdim=True) + eps)
    return normal * (rest[0] + offset) if has_weight else normal


@means("group_norm")
def group_norm(
    node: Node, x: Tensor, *rest: Tensor, groups: int, eps: float, has_weight: bool, has_bias: bool
) -> Tensor:
    weight, bias = _scale_and_shift(has_weight, has_bias, rest)
    return torch.group_norm(x, groups, weight, bias, eps)


@means("batch_norm")
def batch_norm(
    node: Node, x: Tensor, mean: Tensor, variance: Tensor, *rest: Tensor, eps: float, has_weight: bool, has_bias: bool
) -> Tensor:
    weight, bias = _scale_and_shift(has_weight, has_bias, rest)
    return F.batch_norm(x, mean, variance, weight, bias, False, 0.0, eps)
