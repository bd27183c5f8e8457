"""Quantised operators of the domain com.microsoft."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from strop.frontend.onnx.ops import OnnxCall, Unsupported, find, known, made, onnx, tracing, whole
from strop.frontend.onnx.ops.byte_products import weights_of
from strop.frontend.onnx.ops.cells import BYTES, CellKind
from strop.frontend.onnx.ops.quantised import along, dynamic_quantize_linear, integer_matmul, requantised, saturated
from strop.frontend.onnx.ops.recurrent import LSTM_ORDER, recurrent

microsoft = partial(onnx, domain="com.microsoft", since=1)


@microsoft("MatMulIntegerToFloat")
def matmul_integer_to_float(
    a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:  # fmt: skip
    product = integer_matmul(a, b, a_zero, b_zero)
    made = product.to(torch.float32) * (a_scale.reshape(()) * along(b_scale, product, -1))
    return made if bias is None else made + bias


@microsoft("DynamicQuantizeMatMul")
def dynamic_quantize_matmul(
    a: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor | None = None, bias: Tensor | None = None
) -> Tensor:
    quantised, scale, zero = dynamic_quantize_linear(a)
    return matmul_integer_to_float(quantised, b, scale, b_scale, zero, b_zero, bias)


@microsoft("QGemm")
def qgemm(
    a: Tensor, a_scale: Tensor, a_zero: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor, c: Tensor | None = None,
    y_scale: Tensor | None = None, y_zero: Tensor | None = None, *, alpha: float = 1.0, transA: int = 0,
    transB: int = 0, node: OnnxCall,
) -> Tensor:  # fmt: skip
    """The bias is in units of a_scale · b_scale. Without an output scale the result is a float."""
    product = integer_matmul(a.t() if transA else a, b.t() if transB else b, a_zero, b_zero)
    scale = alpha * a_scale.reshape(()) * along(b_scale, product, -1)
    if c is not None:
        product = product.to(torch.float64) + c.to(torch.float64)
    if y_scale is None or y_zero is None:
        return (product * scale).to(torch.float32)
    return requantised(product, scale / y_scale.reshape(()), y_zero, node.input_types[8])


def _dequantised(x: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    value = whole(x, torch.float32)
    if zero is not None:
        value = value - whole(zero, torch.float32).reshape(())
    return value * scale.reshape(())


def _quantised(x: Tensor, scale: Tensor, zero: Tensor | None, element_type: int) -> Tensor:
    value = torch.round(x / scale.reshape(()))
    if zero is not None:
        value = value + whole(zero, torch.float32).reshape(())
    return saturated(value, element_type)


def _binary(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    def run(
        a: Tensor, a_scale: Tensor, a_zero: Tensor | None, b: Tensor, b_scale: Tensor, b_zero: Tensor | None,
        c_scale: Tensor, c_zero: Tensor | None = None, *, node: OnnxCall,
    ) -> Tensor:  # fmt: skip
        value = function(_dequantised(a, a_scale, a_zero), _dequantised(b, b_scale, b_zero))
        return _quantised(value, c_scale, c_zero, node.input_types[0])

    return run


microsoft("QLinearAdd")(_binary(torch.add))
microsoft("QLinearMul")(_binary(torch.mul))


def _unary(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def run(
        x: Tensor,
        x_scale: Tensor,
        x_zero: Tensor | None,
        y_scale: Tensor,
        y_zero: Tensor | None = None,
        *,
        node: OnnxCall,
    ) -> Tensor:
        return _quantised(function(_dequantised(x, x_scale, x_zero)), y_scale, y_zero, node.input_types[0])

    return run


microsoft("QLinearSigmoid")(_unary(torch.sigmoid))


@microsoft("QLinearLeakyRelu")
def qlinear_leaky_relu(
    x: Tensor, x_scale: Tensor, x_zero: Tensor | None, y_scale: Tensor, y_zero: Tensor | None = None, *,
    alpha: float = 0.01, node: OnnxCall,
) -> Tensor:  # fmt: skip
    value = F.leaky_relu(_dequantised(x, x_scale, x_zero), alpha)
    return _quantised(value, y_scale, y_zero, node.input_types[0])


@microsoft("QLinearGlobalAveragePool")
def qlinear_global_average_pool(
    x: Tensor, x_scale: Tensor, x_zero: Tensor | None, y_scale: Tensor, y_zero: Tensor | None = None, *,
    channels_last: int = 0, node: OnnxCall,
) -> Tensor:  # fmt: skip
    dims = list(range(1, x.dim() - 1)) if channels_last else list(range(2, x.dim()))
    value = _dequantised(x, x_scale, x_zero).mean(dims, keepdim=True)
    return _quantised(value, y_scale, y_zero, node.input_types[0])


@microsoft("QLinearAveragePool")
def qlinear_average_pool(
    x: Tensor, x_scale: Tensor, x_zero: Tensor | None, y_scale: Tensor, y_zero: Tensor | None = None, *,
    kernel_shape: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0, channels_last: int = 0,
    count_include_pad: int = 0, pads: Sequence[int] | None = None, strides: Sequence[int] | None = None, node: OnnxCall,
) -> Tensor:  # fmt: skip
    pool = find("", "AveragePool", 11)
    if pool is None or channels_last:
        raise Unsupported("channels come last" if channels_last else "there is no AveragePool")
    value = pool.function(
        _dequantised(x, x_scale, x_zero), kernel_shape=kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode,
        count_include_pad=count_include_pad, pads=pads, strides=strides,
    )  # fmt: skip
    return _quantised(value, y_scale, y_zero, node.input_types[0])


@microsoft("QLinearSoftmax")
def qlinear_softmax(
    x: Tensor, x_scale: Tensor, x_zero: Tensor | None, y_scale: Tensor, y_zero: Tensor, *, axis: int = -1, opset: int,
    node: OnnxCall,
) -> Tensor:  # fmt: skip
    """Before opset 13, softmax runs over all dimensions from `axis` on."""
    value = _dequantised(x, x_scale, x_zero)
    if opset < 13:
        value = F.softmax(value.flatten(axis % x.dim()), -1).reshape(x.shape)
    else:
        value = F.softmax(value, axis)
    return _quantised(value, y_scale, y_zero, node.input_types[0])


@microsoft("QLinearConcat")
def qlinear_concat(y_scale: Tensor, y_zero: Tensor, *inputs: Tensor, axis: int, node: OnnxCall) -> Tensor:
    """Inputs come in threes: a tensor, its scale, its zero point."""
    parts = [_dequantised(*inputs[i : i + 3]) for i in range(0, len(inputs), 3)]
    return _quantised(torch.cat(parts, axis), y_scale, y_zero, node.input_types[1])


@microsoft("DynamicQuantizeLSTM")
def dynamic_quantize_lstm(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor | None, sequence_lens: Tensor | None, initial_h: Tensor | None,
    initial_c: Tensor | None, p: Tensor | None, w_scale: Tensor, w_zero: Tensor, r_scale: Tensor, r_zero: Tensor, *,
    hidden_size: int | None = None, direction: str = "forward", activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] = (), activation_beta: Sequence[float] = (), clip: float | None = None,
    input_forget: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """An LSTM with weights [directions, inputs, 4·hidden] in 8 bits.

    The sequence is rounded to 8 bits as a whole, the state at every step.
    """
    cell = CellKind("lstm", clip, bool(input_forget), rounded=True)
    return recurrent(cell, LSTM_ORDER, x, _weights(w, w_scale, w_zero), _weights(r, r_scale, r_zero),
                     b, p, sequence_lens, [initial_h, initial_c], direction, activations, activation_alpha,
                     activation_beta, 0)  # fmt: skip


def _weights(w: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """[directions, 4·hidden, inputs] in floating point; one scale per direction, or one per column of each."""
    directions = w.shape[0]
    by = scale.reshape(directions, 1, -1)
    offset = whole(zero, torch.float32).reshape(directions, 1, -1)
    result = ((whole(w, torch.float32) - offset) * by).transpose(1, 2)
    values, points = known(w), known(zero)
    if tracing() and values is not None and points is not None:
        each = made(lambda: points.reshape(directions, -1))
        parts = [weights_of(made(values.select, 0, d), made(each.select, 0, d), -1) for d in range(directions)]
        if all(part is not None for part in parts):
            setattr(result, BYTES, [(part, by[d, 0]) for d, part in enumerate(parts)])
    return result
