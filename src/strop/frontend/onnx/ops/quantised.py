"""Quantised operators.

Products with known weights are computed on bytes (`byte_products`), others in floating point: in float32 where the
weights prove that no partial sum can pass 2²⁴, so that every one of them is an exact integer, and in float64 elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from onnx import TensorProto
from torch import Tensor

from strop.frontend.onnx.element_types import CARRIERS, FLOAT8, PLAIN, RANGES, dtype_of
from strop.frontend.onnx.ops import (
    WHOLE_NUMBERS,
    OnnxCall,
    Unsupported,
    byte_products,
    find,
    known,
    made,
    onnx,
    scalar,
    whole,
)
from strop.frontend.onnx.ops.casts import converted
from strop.frontend.onnx.ops.scaled import SCALED, Scaled
from strop.frontend.onnx.ops.windows import same_pads

#: every integer up to here is a float32
EXACT = 2**24
DTYPES = {**PLAIN, **CARRIERS}


def along(parameter: Tensor, x: Tensor, axis: int, block_size: int = 0) -> Tensor:
    """A scale or zero point in a form that broadcasts to `x`: one for all, one per index of `axis`, or per block."""
    if parameter.numel() == 1 and (parameter.dim() <= 1 or parameter.dim() != x.dim()):
        return parameter.reshape(())
    if not -x.dim() <= axis < x.dim():
        raise Unsupported(f"axis {axis} of a tensor with {x.dim()} dimensions")
    axis %= x.dim()
    if parameter.dim() == 1:
        if parameter.shape[0] != x.shape[axis]:
            raise Unsupported(f"{parameter.shape[0]} scales along an axis of {x.shape[axis]}")
        return parameter.reshape([-1 if i == axis else 1 for i in range(x.dim())])
    if parameter.dim() != x.dim():
        raise Unsupported(f"a scale of shape {list(parameter.shape)} for a tensor of shape {list(x.shape)}")
    if parameter.shape[axis] == x.shape[axis]:
        return parameter
    size = block_size or -(-x.shape[axis] // max(1, parameter.shape[axis]))
    return parameter.repeat_interleave(size, axis).narrow(axis, 0, x.shape[axis])


def as_bytes(floats: Tensor, dtype: torch.dtype) -> Tensor:
    """Whole numbers in an integer type; `whole` finds the way back."""
    result = floats.to(dtype)
    setattr(result, WHOLE_NUMBERS, floats)
    return result


def saturated(x: Tensor, element_type: int, saturate: bool = True) -> Tensor:
    """Whole numbers held as floats, in the tensor that holds or carries the element type."""
    if element_type in FLOAT8:
        rounded: Tensor = converted(x, 0, element_type, bool(saturate))
        return rounded
    if element_type not in RANGES:
        raise Unsupported(f"quantisation to {TensorProto.DataType.Name(element_type)}")
    low, high = RANGES[element_type]
    return as_bytes(x.clamp(low, high), DTYPES[element_type])


def _function(name: str, opset: int) -> Callable[..., Any]:
    """Another family's operator."""
    operator = find("", name, opset)
    if operator is None:
        raise Unsupported(f"there is no {name}")
    return operator.function


@onnx("QuantizeLinear")
@onnx("QuantizeLinear", domain="com.microsoft", since=1, until=1)
def quantize_linear(
    x: Tensor, scale: Tensor, zero_point: Tensor | None = None, *, axis: int = 1, saturate: int = 1,
    block_size: int = 0, output_dtype: int = 0, precision: int = 0, node: OnnxCall,
) -> Tensor:  # fmt: skip
    """round(x / scale) + zero point, ties to even."""
    element_type = output_dtype or (node.input_types[2] if zero_point is not None else TensorProto.UINT8)
    wide = dtype_of(precision) if precision else None
    value, by = (x.to(wide), scale.to(wide)) if wide is not None else (x.to(torch.float32), scale.to(torch.float32))
    value = value / along(by, x, axis, block_size)
    if element_type in FLOAT8:
        return saturated(value, element_type, bool(saturate))
    value = torch.round(value)
    if zero_point is not None:
        value = value + along(whole(zero_point, value.dtype), x, axis, block_size)
    return saturated(value, element_type)


@onnx("DequantizeLinear")
@onnx("DequantizeLinear", domain="com.microsoft", since=1, until=1)
def dequantize_linear(
    x: Tensor, scale: Tensor, zero_point: Tensor | None = None, *, axis: int = 1, block_size: int = 0,
    output_dtype: int = 0,
) -> Tensor:  # fmt: skip
    """(x - zero point) · scale."""
    result = dtype_of(output_dtype) if output_dtype else scale.dtype
    value = whole(x, torch.float32)
    if zero_point is not None:
        value = value - along(whole(zero_point, torch.float32), x, axis, block_size)
    made_of = (value * along(scale, x, axis, block_size).to(torch.float32)).to(result)
    if result == torch.float32 and (scale.numel() == 1 or scale.dim() == 1):
        setattr(made_of, SCALED, Scaled(value, scale, axis % max(x.dim(), 1), x, zero_point))
    return made_of


@onnx("DynamicQuantizeLinear")
def dynamic_quantize_linear(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """To uint8, with the scale and zero point that just hold the values and zero."""
    low, high = x.amin().clamp(max=0.0), x.amax().clamp(min=0.0)
    scale = (high - low) / 255.0
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    zero = torch.round((-low / scale).clamp(0.0, 255.0))
    quantised = (torch.round(x / scale) + zero).clamp(0.0, 255.0)
    return as_bytes(quantised, torch.uint8), scale, as_bytes(zero, torch.uint8)


def centred(x: Tensor, zero_point: Tensor | None, dtype: torch.dtype, axis: int) -> Tensor:
    """x - zero point in floating point; a vector of zero points lies along `axis`."""
    value = whole(x, dtype)
    if zero_point is None:
        return value
    zero = whole(zero_point, dtype)
    return value - (zero if zero.numel() > 1 and zero.dim() > 1 else along(zero, x, axis))


def exact_dtype(weight: Tensor, zero_point: Tensor | None, axes: Sequence[int], terms: int) -> torch.dtype:
    """The floating-point type in which sums of `terms` products with 9-bit integers are exact."""
    found = known(weight)
    zero = known(zero_point) if zero_point is not None else None
    bound = 255 * 255 * terms
    if found is not None and found.numel() and (zero_point is None or zero is not None):
        summed = [a % found.dim() for a in axes]

        def largest_sum() -> Tensor:
            size = found.to(torch.float64) - (zero.to(torch.float64).max() if zero is not None else 0.0)
            return size.abs().sum(summed).max()

        bound = int(scalar(made(largest_sum))) * 255
    return torch.float32 if bound <= EXACT else torch.float64


def integer_matmul(a: Tensor, b: Tensor, a_zero: Tensor | None, b_zero: Tensor | None) -> Tensor:
    """(a - a_zero) @ (b - b_zero), exact, as int32 or floats; zero points per row of a and per column of b."""
    product = byte_products.matmul(a, b, a_zero, b_zero)
    if product is not None:
        return product
    dtype = exact_dtype(b, b_zero, (-2 if b.dim() > 1 else 0,), b.shape[-2 if b.dim() > 1 else 0])
    left = centred(a, a_zero, dtype, -2 if a.dim() > 1 else 0)
    return torch.matmul(left, centred(b, b_zero, dtype, -1))


def integer_conv(
    x: Tensor, w: Tensor, x_zero: Tensor | None, w_zero: Tensor | None, bias: Tensor | None, attributes: dict[str, Any]
) -> Tensor:
    """A convolution of centred integers (so that padding is their zero), exact, as int32 or floating-point numbers."""
    rank = w.dim() - 2
    stride, dilation = (list(attributes[name] or [1] * rank) for name in ("strides", "dilations"))
    before, after = same_pads(x.shape[2:], w.shape[2:], stride, dilation, attributes["auto_pad"], attributes["pads"])
    exact = byte_products.conv(x, w, x_zero, w_zero, stride, dilation, before, after, attributes["group"])
    if exact is not None:
        return exact if bias is None else exact + bias.reshape(-1, *[1] * rank)
    dtype = exact_dtype(w, w_zero, range(1, w.dim()), w[0].numel() if w.shape[0] else 0)
    if bias is not None:
        dtype = torch.float64
    product: Tensor = _function("Conv", 11)(
        centred(x, x_zero, dtype, 1), centred(w, w_zero, dtype, 0), bias.to(dtype) if bias is not None else None,
        **attributes,
    )  # fmt: skip
    return product


@onnx("MatMulInteger")
def matmul_integer(a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None) -> Tensor:
    return integer_matmul(a, b, a_zero, b_zero).to(torch.int32)


@onnx("ConvInteger")
def conv_integer(
    x: Tensor, w: Tensor, x_zero: Tensor | None = None, w_zero: Tensor | None = None, *, auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None, group: int = 1, kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None, strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    attributes = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "kernel_shape": kernel_shape,
                  "pads": pads, "strides": strides}  # fmt: skip
    return integer_conv(x, w, x_zero, w_zero, None, attributes).to(torch.int32)


def requantised(product: Tensor, scale: Tensor, zero_point: Tensor, element_type: int) -> Tensor:
    """An exact product, times its scale, rounded and saturated."""
    if not product.is_floating_point():
        product = product.to(torch.float32)
    return saturated(torch.round(product * scale.to(product.dtype)) + whole(zero_point, product.dtype), element_type)


@onnx("QLinearMatMul")
def qlinear_matmul(
    a: Tensor, a_scale: Tensor, a_zero: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor, y_scale: Tensor,
    y_zero: Tensor, *, node: OnnxCall,
) -> Tensor:  # fmt: skip
    product = integer_matmul(a, b, a_zero, b_zero)
    wide = torch.float32
    by_row = along(a_scale.to(wide), product, -2) if a_scale.dim() <= 1 else a_scale.to(wide)
    by_column = along(b_scale.to(wide), product, -1) if b_scale.dim() <= 1 else b_scale.to(wide)
    return requantised(product, by_row * by_column / y_scale.to(wide), y_zero, node.input_types[7])


@onnx("QLinearConv")
def qlinear_conv(
    x: Tensor, x_scale: Tensor, x_zero: Tensor, w: Tensor, w_scale: Tensor, w_zero: Tensor, y_scale: Tensor,
    y_zero: Tensor, b: Tensor | None = None, *, auto_pad: str = "NOTSET", dilations: Sequence[int] | None = None,
    group: int = 1, kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None, node: OnnxCall,
) -> Tensor:  # fmt: skip
    """The bias is in units of x_scale · w_scale."""
    attributes = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "kernel_shape": kernel_shape,
                  "pads": pads, "strides": strides}  # fmt: skip
    product = integer_conv(x, w, x_zero, w_zero, b, attributes)
    scale = x_scale.reshape(()) * along(w_scale, product, 1) / y_scale.reshape(())
    return requantised(product, scale, y_zero.reshape(()), node.input_types[7])
