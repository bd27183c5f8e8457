"""Arithmetic, comparison and logic, element by element."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from strop.frontend.onnx.ops import OnnxCall, Unsupported, numbers, onnx, scalar

_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "Abs": torch.abs, "Acos": torch.acos, "Acosh": torch.acosh, "Asin": torch.asin, "Asinh": torch.asinh,
    "Atan": torch.atan, "Atanh": torch.atanh, "Ceil": torch.ceil, "Cos": torch.cos, "Cosh": torch.cosh,
    "Erf": torch.erf, "Exp": torch.exp, "Floor": torch.floor, "IsNaN": torch.isnan, "Log": torch.log,
    "Neg": torch.neg, "Not": torch.logical_not, "Reciprocal": torch.reciprocal, "Round": torch.round,
    "Sign": torch.sign, "Sin": torch.sin, "Sinh": torch.sinh, "Sqrt": torch.sqrt, "Tan": torch.tan,
    "Tanh": torch.tanh, "BitwiseNot": torch.bitwise_not,
}  # fmt: skip
_BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Equal": torch.eq, "Greater": torch.gt, "Less": torch.lt,
    "GreaterOrEqual": torch.ge, "LessOrEqual": torch.le, "And": torch.logical_and, "Or": torch.logical_or,
    "Xor": torch.logical_xor, "BitwiseAnd": torch.bitwise_and, "BitwiseOr": torch.bitwise_or,
    "BitwiseXor": torch.bitwise_xor,
}  # fmt: skip


def _unary(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def operator(x: Tensor) -> Tensor:
        return function(x)

    return operator


def _binary(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    def operator(a: Any, b: Any) -> Any:
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            return function(a, b)
        return torch.from_numpy(a == b)  # texts know equality only

    return operator


for _name, _function in _UNARY.items():
    onnx(_name)(_unary(_function))
for _name, _pair in _BINARY.items():
    onnx(_name)(_binary(_pair))


@onnx("Div")
def div(a: Tensor, b: Tensor) -> Tensor:
    """Integers are divided towards zero."""
    return torch.div(a, b) if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc")


@onnx("Mod")
def mod(a: Tensor, b: Tensor, *, fmod: int = 0) -> Tensor:
    return torch.fmod(a, b) if fmod else torch.remainder(a, b)


@onnx("Pow")
def pow(a: Tensor, b: Tensor) -> Tensor:
    """The result has the base's type, whatever the exponent's."""
    exponent = numbers(b) if b.dim() == 0 else None
    if exponent is not None:
        number = exponent[0]
        result = torch.pow(a, int(number) if float(number).is_integer() else number)
    elif a.dtype == b.dtype:
        result = torch.pow(a, b)
    elif b.is_floating_point() and not a.is_floating_point():
        result = torch.pow(a.to(b.dtype), b)
    else:
        result = torch.pow(a, b.to(a.dtype))
    return result.to(a.dtype)


@onnx("BitShift")
def bit_shift(a: Tensor, b: Tensor, *, direction: str) -> Tensor:
    return torch.bitwise_left_shift(a, b) if direction == "LEFT" else torch.bitwise_right_shift(a, b)


@onnx("Max")
def maximum(*inputs: Tensor) -> Tensor:
    return reduce(torch.maximum, inputs)


@onnx("Min")
def minimum(*inputs: Tensor) -> Tensor:
    return reduce(torch.minimum, inputs)


@onnx("Sum")
def add_all(*inputs: Tensor) -> Tensor:
    return reduce(torch.add, inputs)


@onnx("Mean")
def mean_of(*inputs: Tensor) -> Tensor:
    return reduce(torch.add, inputs) / len(inputs)


@onnx("Where")
def where(condition: Tensor, a: Any, b: Any) -> Any:
    if isinstance(a, Tensor):
        return torch.where(condition, a, b)
    import numpy as np

    return np.where(condition.numpy(), a, b)


@onnx("Clip", until=10)
def clip_by_attributes(x: Tensor, *, min: float | None = None, max: float | None = None) -> Tensor:
    return x if min is None and max is None else torch.clamp(x, min, max)


@onnx("Clip", since=11)
def clip(x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    """Bounds that are known become numbers, so that ReLU6 and the like stay visible."""
    bounds = [numbers(bound) if bound is not None else None for bound in (low, high)]
    if all(bound is None or real is not None for bound, real in zip((low, high), bounds)):
        ends = [None if real is None else real[0] for real in bounds]
        return x if ends == [None, None] else torch.clamp(x, *ends)
    if low is not None:
        x = torch.maximum(x, low)
    return x if high is None else torch.minimum(x, high)


@onnx("IsInf")
def is_inf(x: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Tensor:
    if detect_negative and detect_positive:
        return torch.isinf(x)
    if detect_positive:
        return torch.eq(x, float("inf"))
    return torch.eq(x, float("-inf")) if detect_negative else torch.zeros_like(x, dtype=torch.bool)


@onnx("Einsum")
def einsum(*inputs: Tensor, equation: str) -> Tensor:
    result: Tensor = torch.einsum(equation.replace(" ", ""), *inputs)
    return result


@onnx("Det")
def det(x: Tensor) -> Tensor:
    result: Tensor = torch.linalg.det(x)
    return result


@onnx("Identity")
def identity(x: Any) -> Any:
    return x


@onnx("Dropout", until=11)
def dropout(x: Tensor, *, ratio: float = 0.5) -> tuple[Tensor, Tensor]:
    return x, torch.ones_like(x, dtype=torch.bool)


@onnx("Dropout", since=12)
def dropout_in_training(
    x: Tensor, ratio: Tensor | None = None, training: Tensor | None = None, *, seed: int | None = None, node: OnnxCall
) -> tuple[Tensor, Tensor]:
    rate = 0.5 if ratio is None else float(scalar(ratio, "the ratio"))
    if training is None or not scalar(training, "the training mode") or rate == 0:
        return x, torch.ones_like(x, dtype=torch.bool)
    if seed is not None and node.wants(1):
        raise Unsupported("dropout in training draws random numbers, and ONNX does not say which a seed stands for")
    kept = torch.rand_like(x) >= rate
    return torch.where(kept, x / (1 - rate), torch.zeros_like(x)), kept
