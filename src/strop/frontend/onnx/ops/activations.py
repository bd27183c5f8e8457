"""Activations and what is normalised along an axis."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from strop.frontend.onnx.ops import onnx


@onnx("Relu")
def relu(x: Tensor) -> Tensor:
    return torch.relu(x)


@onnx("Sigmoid")
def sigmoid(x: Tensor) -> Tensor:
    return torch.sigmoid(x)


@onnx("Softplus")
def softplus(x: Tensor) -> Tensor:
    return F.softplus(x)


@onnx("Softsign")
def softsign(x: Tensor) -> Tensor:
    return x / (1 + x.abs())


@onnx("Elu")
def elu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return F.elu(x, alpha)


@onnx("Selu")
def selu(x: Tensor, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Tensor:
    result: Tensor = torch.ops.aten.elu.default(x, alpha, gamma, 1.0)
    return result


@onnx("Celu")
def celu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return F.celu(x, alpha)


@onnx("LeakyRelu")
def leaky_relu(x: Tensor, *, alpha: float = 0.01) -> Tensor:
    return F.leaky_relu(x, alpha)


@onnx("PRelu")
def prelu(x: Tensor, slope: Tensor) -> Tensor:
    return torch.where(x > 0, x, x * slope)


@onnx("ThresholdedRelu")
def thresholded_relu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return torch.where(x > alpha, x, torch.zeros_like(x))


@onnx("HardSigmoid")
def hard_sigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
        return F.hardsigmoid(x)
    return torch.clamp(x * alpha + beta, 0, 1)


@onnx("HardSwish")
def hard_swish(x: Tensor) -> Tensor:
    return F.hardswish(x)


@onnx("Mish")
def mish(x: Tensor) -> Tensor:
    return F.mish(x)


@onnx("Gelu")
def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    return F.gelu(x, approximate=approximate)


@onnx("Swish")
def swish(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return F.silu(x) if alpha == 1 else x * torch.sigmoid(alpha * x)


@onnx("Shrink")
def shrink(x: Tensor, *, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
    zero = torch.zeros_like(x)
    wide = x if x.is_floating_point() else x.to(torch.float32)
    result = torch.where(wide < -lambd, wide + bias, torch.where(wide > lambd, wide - bias, zero.to(wide.dtype)))
    return result.to(x.dtype)


def _rows(x: Tensor, axis: int) -> Tensor:
    """Before opset 13 an axis meant: everything from here on is one row."""
    axis %= max(x.dim(), 1)
    rows = 1
    for extent in x.shape[:axis]:
        rows *= extent
    return x.reshape(rows, -1)


@onnx("Softmax", until=12)
def softmax_of_rows(x: Tensor, *, axis: int = 1) -> Tensor:
    if axis % max(x.dim(), 1) == x.dim() - 1:
        return torch.softmax(x, -1)
    return torch.softmax(_rows(x, axis), 1).reshape(x.shape)


@onnx("Softmax", since=13)
def softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    return torch.softmax(x, axis)


@onnx("LogSoftmax", until=12)
def log_softmax_of_rows(x: Tensor, *, axis: int = 1) -> Tensor:
    return torch.log_softmax(_rows(x, axis), 1).reshape(x.shape)


@onnx("LogSoftmax", since=13)
def log_softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    return torch.log_softmax(x, axis)


@onnx("Hardmax", until=12)
def hardmax_of_rows(x: Tensor, *, axis: int = 1) -> Tensor:
    return hardmax(_rows(x, axis), axis=1).reshape(x.shape)


@onnx("Hardmax", since=13)
def hardmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """One at the first maximum, zero elsewhere."""
    places = torch.arange(x.shape[axis])
    shape = [1] * x.dim()
    shape[axis] = -1
    return (places.reshape(shape) == x.argmax(axis, keepdim=True)).to(x.dtype)
