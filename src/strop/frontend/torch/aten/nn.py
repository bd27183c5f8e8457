"""Convolutions, normalisations, attention and recurrent cells: kept whole until they are expanded into loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from strop.core.dtypes import is_float
from strop.core.problem import Problem
from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import Unfit, aten
from strop.graph.ir import Node, Type

Sizes = Sequence[int] | int


def per_dimension(sizes: Sizes, rank: int) -> tuple[int, ...]:
    sizes = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    return sizes * rank if len(sizes) == 1 else sizes


# convolution


@aten("convolution", "_convolution", "convolution_overrideable")
def convolution(
    b: Builder,
    x: Node,
    weight: Node,
    bias: Node | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
    *_: object,
) -> Node:
    """Input without a batch dimension gains one that the result loses again."""
    space = weight.type.rank - 2
    pads = tuple((p, p) for p in per_dimension(padding, space))
    return _conv(b, x, weight, bias, stride, pads, dilation, transposed, output_padding, groups)


@aten("conv1d", "conv2d", "conv3d")
def conv(
    b: Builder,
    x: Node,
    weight: Node,
    bias: Node | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Node:
    return convolution(b, x, weight, bias, stride, padding, dilation, False, 0, groups)


@aten("conv1d.padding", "conv2d.padding", "conv3d.padding")
def conv_same(
    b: Builder,
    x: Node,
    weight: Node,
    bias: Node | None = None,
    stride: Sizes = 1,
    padding: str = "valid",
    dilation: Sizes = 1,
    groups: int = 1,
) -> Node:
    """'same' pads the odd element at the end."""
    space = weight.type.rank - 2
    pads = [(0, 0)] * space
    if padding == "same":
        totals = [d * (k - 1) for d, k in zip(per_dimension(dilation, space), weight.shape[2:])]
        pads = [(total // 2, total - total // 2) for total in totals]
    return _conv(b, x, weight, bias, stride, tuple(pads), dilation, False, 0, groups)


@aten("conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input")
def conv_transpose(
    b: Builder,
    x: Node,
    weight: Node,
    bias: Node | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Node:
    return convolution(b, x, weight, bias, stride, padding, dilation, True, output_padding, groups)


def _conv(
    b: Builder,
    x: Node,
    weight: Node,
    bias: Node | None,
    stride: Sizes,
    pads: tuple[tuple[int, int], ...],
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> Node:
    if not is_float(x.dtype):
        raise Unfit("a convolution of integers")
    space = weight.type.rank - 2
    batched = x.type.rank == space + 2
    if not batched:
        x = b.unsqueeze(x, 0)
    inputs = (x, weight) if bias is None else (x, weight, bias)
    shape = b.call.shape if batched else (1, *b.call.shape)
    node = b.node(
        "conv", inputs, Type(x.dtype, shape),
        stride=per_dimension(stride, space), padding=pads, dilation=per_dimension(dilation, space), groups=groups,
        transposed=bool(transposed), output_padding=per_dimension(output_padding, space),
    )  # fmt: skip
    return node if batched else b.reshape(node, b.call.shape)


@aten("convolution_backward")
def convolution_backward(
    b: Builder,
    dy: Node,
    x: Node,
    weight: Node,
    bias_sizes: Sizes | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
    mask: Sequence[bool],
) -> tuple[Node | None, ...]:
    """The gradients of input (a convolution the other way round), weight and bias; None where `mask` asks for none."""
    space = weight.type.rank - 2
    if x.type.rank != space + 2 or not is_float(x.dtype):
        raise Unfit("the gradient of a convolution without a batch dimension, or of integers")
    strides, dilations = per_dimension(stride, space), per_dimension(dilation, space)
    pads = tuple((p, p) for p in per_dimension(padding, space))
    back: dict[str, Any] = {"stride": strides, "padding": pads, "dilation": dilations, "groups": groups}
    made: list[Node | None] = [None, None, None]
    if mask[0]:
        reach = [(o - 1) * s - sum(p) + d * (k - 1) + 1 for o, s, p, d, k in
                 zip(dy.shape[2:], strides, pads, dilations, weight.shape[2:])]  # fmt: skip
        rest = (0,) * space if transposed else tuple(have - r for have, r in zip(x.shape[2:], reach))
        how = {**back, "padding": _exact_pads(dy, x, weight, back)} if transposed else back
        made[0] = b.node("conv", (dy, weight), x.type, **how, transposed=not transposed, output_padding=rest)
    if mask[1]:
        of = (dy, x) if transposed else (x, dy)
        made[1] = b.node("conv_weight_grad", of, weight.type, kernel=tuple(weight.shape[2:]), **back)
    if mask[2]:
        dims = tuple(dim for dim in range(space + 2) if dim != 1)
        made[2] = b.node("sum", (dy,), Type(dy.dtype, (dy.shape[1],)), dims=dims, keepdim=False)
    return tuple(made)


def _exact_pads(dy: Node, x: Node, weight: Node, back: dict[str, Any]) -> tuple[tuple[int, int], ...]:
    """Padding with which a convolution has as many points as x: an output padding of a stride or more adds none."""
    pads = []
    for have, points, k, s, (before, after), d in zip(
        dy.shape[2:], x.shape[2:], weight.shape[2:], back["stride"], back["padding"], back["dilation"]
    ):
        pads.append((before, min(after, (points - 1) * s + d * (k - 1) + 1 - have - before)))
    return tuple(pads)


# normalisation


@aten("layer_norm")
def layer_norm(
    b: Builder, x: Node, shape: Sequence[int], weight: Node | None = None, bias: Node | None = None, eps: float = 1e-5,
    cudnn: bool = True,
) -> Node:  # fmt: skip
    return _layer_norm(b, x, len(shape), weight, bias, eps)


def _layer_norm(b: Builder, x: Node, axes: int, weight: Node | None, bias: Node | None, eps: float) -> Node:
    if weight is None and bias is not None:
        weight = b.full(1, x.dtype, bias.shape)
    inputs = _given(x, weight, bias)
    has = {"has_weight": weight is not None, "has_bias": bias is not None}
    return b.node("layer_norm", inputs, x.type, axes=axes, eps=float(eps), **has)


@aten("native_layer_norm")
def native_layer_norm(
    b: Builder, x: Node, shape: Sequence[int], weight: Node | None, bias: Node | None, eps: float
) -> tuple[Node, ...]:
    out = _layer_norm(b, x, len(shape), weight, bias, eps)
    if not b.call.used - {0}:
        return out, out, out
    dims = range(x.type.rank - len(shape), x.type.rank)
    mean, rstd = _moments(b, x, tuple(dims), eps)
    return out, mean, rstd


def _moments(b: Builder, x: Node, dims: tuple[int, ...], eps: float, keepdim: bool = True) -> tuple[Node, Node]:
    variance = b.reduce("var", x, dims, keepdim, correction=0)
    return b.reduce("mean", x, dims, keepdim), b.unary("rsqrt", b.add(variance, eps))


def _given(*nodes: Node | None) -> list[Node]:
    return [node for node in nodes if node is not None]


@aten("rms_norm")
def rms_norm(b: Builder, x: Node, shape: Sequence[int], weight: Node | None = None, eps: float | None = None) -> Node:
    return _rms_norm(b, x, len(shape), weight, eps)


@aten("_fused_rms_norm")
def fused_rms_norm(
    b: Builder, x: Node, shape: Sequence[int], weight: Node | None, eps: float | None
) -> tuple[Node, ...]:
    if b.call.used - {0}:
        raise Unfit("the reciprocal root mean square of rms_norm")
    out = _rms_norm(b, x, len(shape), weight, eps)
    return out, out


def _rms_norm(b: Builder, x: Node, axes: int, weight: Node | None, eps: float | None) -> Node:
    """Without eps torch adds the dtype's machine epsilon."""
    eps = {"f32": 2.0**-23, "f64": 2.0**-52}[x.dtype] if eps is None else float(eps)
    inputs = _given(x, weight)
    return b.node("rms_norm", inputs, x.type, axes=axes, eps=eps, has_weight=weight is not None, offset=0.0)


@aten("group_norm")
def group_norm(
    b: Builder, x: Node, groups: int, weight: Node | None = None, bias: Node | None = None, eps: float = 1e-5,
    cudnn: bool = True,
) -> Node:  # fmt: skip
    return _group_norm(b, x, groups, weight, bias, eps)


def _group_norm(b: Builder, x: Node, groups: int, weight: Node | None, bias: Node | None, eps: float) -> Node:
    if weight is None and bias is not None:
        weight = b.full(1, x.dtype, bias.shape)
    has = {"has_weight": weight is not None, "has_bias": bias is not None}
    return b.node("group_norm", _given(x, weight, bias), x.type, groups=groups, eps=float(eps), **has)


@aten("native_group_norm")
def native_group_norm(
    b: Builder, x: Node, weight: Node | None, bias: Node | None, n: int, c: int, hw: int, groups: int, eps: float
) -> tuple[Node, ...]:
    out = _group_norm(b, x, groups, weight, bias, eps)
    if not b.call.used - {0}:
        return out, out, out
    mean, rstd = _moments(b, b.reshape(x, (n, groups, x.type.size // max(n * groups, 1))), (2,), eps, keepdim=False)
    return out, mean, rstd


@aten("instance_norm")
def instance_norm(
    b: Builder, x: Node, weight: Node | None, bias: Node | None, mean: Node | None, var: Node | None, use_input: bool,
    momentum: float, eps: float, cudnn: bool,
) -> Node:  # fmt: skip
    if not use_input or mean is not None:
        raise Unfit("instance_norm with running statistics")
    return _group_norm(b, x, x.shape[1], weight, bias, eps)


def _batch_norm(b: Builder, x: Node, weight: Node | None, bias: Node | None, mean: Node, var: Node, eps: float) -> Node:
    if weight is None and bias is not None:
        weight = b.full(1, x.dtype, bias.shape)
    statistics = [b.cast(mean, x.dtype), b.cast(var, x.dtype)]
    has = {"has_weight": weight is not None, "has_bias": bias is not None}
    return b.node("batch_norm", [x, *statistics, *_given(weight, bias)], x.type, eps=float(eps), **has)


@aten("batch_norm")
def batch_norm(
    b: Builder, x: Node, weight: Node | None, bias: Node | None, mean: Node | None, var: Node | None, training: bool,
    momentum: float, eps: float, cudnn: bool,
) -> Node:  # fmt: skip
    if training or mean is None or var is None:
        raise Unfit("batch_norm from the batch's own statistics")
    return _batch_norm(b, x, weight, bias, mean, var, eps)


@aten("_native_batch_norm_legit_no_training", "_batch_norm_no_update")
def batch_norm_inference(
    b: Builder, x: Node, weight: Node | None, bias: Node | None, mean: Node | None, var: Node | None, momentum: float,
    eps: float,
) -> tuple[Node, ...]:  # fmt: skip
    if mean is None or var is None:
        raise Unfit("batch_norm without running statistics")
    out = _batch_norm(b, x, weight, bias, mean, var, eps)
    unused = b.full(0, x.dtype, (0,))
    return (out, *(unused for _ in b.call.types[1:]))


@aten("native_batch_norm", "_native_batch_norm_legit", "cudnn_batch_norm")
def native_batch_norm(
    b: Builder, x: Node, weight: Node | None, bias: Node | None, mean: Node | None, var: Node | None, training: bool,
    momentum: float, eps: float,
) -> tuple[Node, ...]:  # fmt: skip
    if training and mean is not None and b.call.target.startswith("aten.native_batch_norm."):
        raise Problem("STR107", "a norm in training writes its running statistics in a way that capture can't follow",
                      where=b.origin, help="call .eval() first, or compile with partial=True")  # fmt: skip
    if training:
        raise Unfit("batch_norm from the batch's own statistics")
    return batch_norm_inference(b, x, weight, bias, mean, var, momentum, eps)


# attention


@aten("scaled_dot_product_attention")
def attention(
    b: Builder, q: Node, k: Node, v: Node, mask: Node | None = None, dropout: float = 0.0, causal: bool = False,
    scale: float | None = None, gqa: bool = False,
) -> Node:  # fmt: skip
    return _attention(b, q, k, v, mask, dropout, causal, scale, gqa)


@aten("_scaled_dot_product_attention_math", "_scaled_dot_product_attention_math_for_mps")
def attention_math(
    b: Builder, q: Node, k: Node, v: Node, mask: Node | None = None, dropout: float = 0.0, causal: bool = False,
    dropout_mask: Node | None = None, scale: float | None = None, gqa: bool = False,
) -> tuple[Node, ...]:  # fmt: skip
    return _with_unused(b, _attention(b, q, k, v, mask, dropout, causal, scale, gqa))


@aten("_scaled_dot_product_flash_attention_for_cpu")
def attention_flash(
    b: Builder, q: Node, k: Node, v: Node, dropout: float = 0.0, causal: bool = False, mask: Node | None = None,
    scale: float | None = None,
) -> tuple[Node, ...]:  # fmt: skip
    out = _attention(b, q, k, v, mask, dropout, causal, scale, False)
    if not b.call.used - {0}:
        return _with_unused(b, out)
    whole = b.node("attention_forward", out.inputs, out.type, Type(out.dtype, out.shape[:-1]),
                   scale=out.attrs["scale"], causal=out.attrs["causal"])  # fmt: skip
    return tuple(b.node("item", (whole,), type, index=i) for i, type in enumerate(whole.types))


@aten("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_flash_backward(
    b: Builder, dout: Node, q: Node, k: Node, v: Node, out: Node, logsumexp: Node, dropout: float, causal: bool,
    mask: Node | None = None, scale: float | None = None,
) -> tuple[Node, ...]:  # fmt: skip
    if dropout > 0:
        raise Unfit("attention with dropout draws random numbers")
    if any(x.shape[:-2] != q.shape[:-2] for x in (k, v)):
        raise Unfit("attention whose batch dimensions broadcast")
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    inputs = [dout, q, k, v, out, logsumexp, *([] if mask is None else [_mask(b, mask, q.dtype)])]
    whole = b.node("attention_backward", inputs, q.type, k.type, v.type, scale=scale, causal=bool(causal))
    return tuple(b.node("item", (whole,), type, index=i) for i, type in enumerate(whole.types))


def _attention(
    b: Builder, q: Node, k: Node, v: Node, mask: Node | None, dropout: float, causal: bool, scale: float | None,
    gqa: bool,
) -> Node:  # fmt: skip
    if dropout > 0:
        raise Unfit("attention with dropout draws random numbers")
    if not (q.type.rank == k.type.rank == v.type.rank):
        raise Unfit("attention with operands of different rank")
    batch = q.shape[:-3] if gqa else q.shape[:-2]
    heads = 3 if gqa else 2
    if b.call.shape[: len(batch)] != batch or any(x.shape[:-heads] != batch for x in (k, v)):
        raise Unfit("attention whose batch dimensions broadcast")
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    inputs = [q, k, v] if mask is None else [q, k, v, _mask(b, mask, q.dtype)]
    return b.node("attention", inputs, Type(q.dtype, (*q.shape[:-1], v.shape[-1])), scale=scale, causal=bool(causal),
                  gqa=bool(gqa and q.shape[-3] != k.shape[-3]))  # fmt: skip


def _mask(b: Builder, mask: Node, dtype: str) -> Node:
    """`where(keep, 0, -inf)`, which one door makes of a boolean mask, is that boolean mask again."""
    inner = mask.inputs[0] if mask.op == "expand" else mask
    if inner.op != "where":
        return mask if mask.dtype == "bool" else b.cast(mask, dtype)
    keep, zero, minus_infinity = inner.inputs
    values = [side.attrs.get("value") if side.op == "full" else None for side in (zero, minus_infinity)]
    if values == [0.0, -math.inf]:
        return keep if keep.shape == mask.shape else b.expand(keep, mask.shape)
    return b.cast(mask, dtype)


def _with_unused(b: Builder, out: Node) -> tuple[Node, ...]:
    if b.call.used - {0}:
        raise Unfit("attention's second result")
    return (out, *(out for _ in b.call.types[1:]))


# recurrent cells


@aten("lstm.input")
def lstm(
    b: Builder, x: Node, state: Sequence[Node], weights: Sequence[Node], has_bias: bool, layers: int, dropout: float,
    train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Node, ...]:  # fmt: skip
    return recurrent(b, "lstm", x, state, weights, has_bias, layers, dropout, train, bidirectional, batch_first)


@aten("gru.input")
def gru(
    b: Builder, x: Node, state: Node, weights: Sequence[Node], has_bias: bool, layers: int, dropout: float,
    train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Node, ...]:  # fmt: skip
    return recurrent(b, "gru", x, [state], weights, has_bias, layers, dropout, train, bidirectional, batch_first)


@aten("rnn_tanh.input", "rnn_relu.input")
def rnn(
    b: Builder, x: Node, state: Node, weights: Sequence[Node], has_bias: bool, layers: int, dropout: float,
    train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Node, ...]:  # fmt: skip
    kind = "tanh" if "tanh" in b.call.target else "relu"
    return recurrent(b, "rnn", x, [state], weights, has_bias, layers, dropout, train, bidirectional, batch_first,
                     nonlinearity=kind)  # fmt: skip


def recurrent(
    b: Builder, op: str, x: Node, state: Sequence[Node], weights: Sequence[Node], has_bias: bool, layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool, **attrs: str,
) -> tuple[Node, ...]:  # fmt: skip
    if train and dropout > 0 and layers > 1:
        raise Unfit("dropout in training draws random numbers")
    if len(weights) != layers * (2 if bidirectional else 1) * (4 if has_bias else 2):
        raise Unfit(f"{op} with a projection")
    node = b.node(op, (x, *state, *weights), *b.call.types, layers=layers, bidirectional=bool(bidirectional),
                  batch_first=bool(batch_first), has_bias=bool(has_bias), **attrs)  # fmt: skip
    return tuple(b.node("item", (node,), type, index=i) for i, type in enumerate(b.call.types))
