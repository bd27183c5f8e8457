"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from strop.frontend.onnx.ops import OnnxCall, onnx


@onnx("BatchNormalization", until=13)
def batch_norm_for_inference(
    x: Tensor, scale: Tensor, b: Tensor, mean: Tensor, var: Tensor, *, epsilon: float = 1e-5, momentum: float = 0.9,
    spatial: int = 1,
) -> Tensor:  # fmt: skip
    return F.batch_norm(x, mean, var, scale, b, eps=epsilon)


@onnx("BatchNormalization", since=14)
def batch_norm(
    x: Tensor, scale: Tensor, b: Tensor, mean: Tensor, var: Tensor, *, epsilon: float = 1e-5, momentum: float = 0.9,
    training_mode: int = 0,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    if not training_mode:
        return F.batch_norm(x, mean.to(x.dtype), var.to(x.dtype), scale.to(x.dtype), b.to(x.dtype), eps=epsilon)
    dims = [d for d in range(x.dim()) if d != 1]
    shape = [1, -1, *[1] * (x.dim() - 2)]
    now_mean = x.mean(dims)
    now_var = x.var(dims, correction=0)
    y = (x - now_mean.reshape(shape)) / torch.sqrt(now_var.reshape(shape) + epsilon)
    running_mean = mean * momentum + now_mean * (1 - momentum)
    running_var = var * momentum + now_var * (1 - momentum)
    return y * scale.reshape(shape) + b.reshape(shape), running_mean, running_var


@onnx("InstanceNormalization")
def instance_norm(x: Tensor, scale: Tensor, b: Tensor, *, epsilon: float = 1e-5) -> Tensor:
    return F.instance_norm(x, weight=scale, bias=b, eps=epsilon)


@onnx("LayerNormalization")
def layer_norm(
    x: Tensor, scale: Tensor, b: Tensor | None = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1,
    node: OnnxCall,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    axis %= x.dim()
    shape = list(x.shape[axis:])
    fits = list(scale.shape) == shape and (b is None or list(b.shape) == shape)
    if not (node.wants(1) or node.wants(2)) and fits:
        return F.layer_norm(x, shape, scale, b, epsilon)
    dims = list(range(axis, x.dim()))
    wide = x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x
    mean = wide.mean(dims, keepdim=True)
    centred = wide - mean
    inverse = torch.rsqrt((centred * centred).mean(dims, keepdim=True) + epsilon)
    y = (centred * inverse).to(x.dtype) * scale
    return (y if b is None else y + b), mean, inverse


@onnx("RMSNormalization")
def rms_norm(x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Tensor:
    axis %= x.dim()
    shape = list(x.shape[axis:])
    if list(scale.shape) == shape and x.dtype == scale.dtype and x.dtype in (torch.float32, torch.float64):
        return F.rms_norm(x, shape, scale, epsilon)
    wide = x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x
    power = (wide * wide).mean(list(range(axis, x.dim())), keepdim=True)
    return (wide * torch.rsqrt(power + epsilon)).to(scale.dtype) * scale


@onnx("GroupNormalization", until=20)
def group_norm_by_group(x: Tensor, scale: Tensor, b: Tensor, *, num_groups: int, epsilon: float = 1e-5) -> Tensor:
    """Until opset 20 there is one scale per group."""
    each = x.shape[1] // num_groups
    return F.group_norm(x, num_groups, scale.repeat_interleave(each), b.repeat_interleave(each), epsilon)


@onnx("GroupNormalization", since=21)
def group_norm(
    x: Tensor, scale: Tensor, b: Tensor, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> Tensor:
    return F.group_norm(x, num_groups, scale, b, epsilon)


@onnx("LpNormalization")
def lp_normalization(x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    """A row of zeros stays one."""
    norm = x.abs().sum(axis, keepdim=True) if p == 1 else torch.sqrt((x * x).sum(axis, keepdim=True))
    return torch.where(norm == 0, torch.zeros_like(x), x / norm)


@onnx("MeanVarianceNormalization")
def mean_variance_normalization(x: Tensor, *, axes: Sequence[int] = (0, 2, 3)) -> Tensor:
    mean = x.mean(list(axes), keepdim=True)
    square = (x * x).mean(list(axes), keepdim=True)
    return (x - mean) / (torch.sqrt(square - mean * mean) + 1e-9)


@onnx("LRN")
def lrn(x: Tensor, *, size: int, alpha: float = 0.0001, beta: float = 0.75, bias: float = 1.0) -> Tensor:
    """The sum over neighbouring channels, as a window over a dimension of its own."""
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    squares = (x * x).reshape(x.shape[0], 1, x.shape[1], -1)
    window = F.avg_pool2d(F.pad(squares, [0, 0, before, after]), (size, 1), 1).reshape(x.shape)
    return x / torch.pow(window * alpha + bias, beta)
