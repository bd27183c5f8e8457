"""What contractions compute: linear layers, products, convolutions, attention, recurrent layers, trees."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from strop.frontend.torch.aten import byte_products, losses, recurrences
from strop.frontend.torch.aten import trees as aten_trees
from strop.graph.ir import Node
from strop.runtime.meanings import Meaning, means

Tensor = torch.Tensor


@means("linear")
def linear(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(x, weight, bias)


@means("byte_linear")
def byte_linear(node: Node, x: Tensor, weight: Tensor) -> Tensor:
    product: Tensor = byte_products.byte_linear(x, weight)
    return product


@means("byte_lstm")
def byte_lstm(node: Node, *inputs: Tensor, backwards: bool) -> tuple[Tensor, ...]:
    return tuple(byte_products.byte_lstm(*inputs, backwards))


@means("walk_trees")
def walk_trees(node: Node, x: Tensor, nodes: Tensor, *, trees: int, steps: int, bits: int, between: bool) -> Tensor:
    return aten_trees.walked(x, nodes, trees, steps, bits, between)


@means("byte_conv")
def byte_conv(
    node: Node, x: Tensor, weight: Tensor, *, stride: Sequence[int], padding: Sequence[tuple[int, int]],
    dilation: Sequence[int], groups: int, transposed: bool,
) -> Tensor:  # fmt: skip
    pads = [amount for side in zip(*padding) for amount in side]
    product: Tensor = byte_products.byte_conv(x, weight, list(stride), pads, list(dilation))
    return product


@means("matmul")
def matmul(node: Node, x: Tensor, y: Tensor) -> Tensor:
    return torch.matmul(x, y)


@means("conv")
def conv(
    node: Node,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
    transposed: bool,
    output_padding: Sequence[int],
) -> Tensor:
    if transposed:
        even = [before for before, _ in padding]
        return torch.convolution(x, weight, bias, stride, even, dilation, True, output_padding, groups)
    flat = [amount for pair in reversed(padding) for amount in pair]
    return torch.convolution(F.pad(x, flat), weight, bias, stride, [0] * len(stride), dilation, False, [0], groups)


@means("conv_weight_grad")
def conv_weight_grad(
    node: Node,
    x: Tensor,
    dy: Tensor,
    *,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    x = F.pad(x, [amount for pair in reversed(padding) for amount in pair])
    reach = [(o - 1) * s + d * (k - 1) + 1 for o, s, d, k in zip(dy.shape[2:], stride, dilation, kernel)]
    x = F.pad(x, [amount for have, need in zip(x.shape[:1:-1], reversed(reach)) for amount in (0, need - have)])
    weight = x.new_empty(node.shape)
    none = [0] * len(stride)
    made: Tensor = torch.ops.aten.convolution_backward(
        dy, x, weight, None, stride, none, dilation, False, none, groups, [False, True, False]
    )[1]
    return made


@means("attention")
def attention(
    node: Node, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, scale: float, causal: bool, gqa: bool
) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale=scale, enable_gqa=gqa)


@means("attention_forward")
def attention_forward(
    node: Node, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, scale: float, causal: bool
) -> tuple[Tensor, ...]:
    added = _added(mask, q.dtype)
    out, logsumexp = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        q, k, v, 0.0, causal, attn_mask=added, scale=scale
    )
    return out, logsumexp.to(q.dtype)


@means("attention_backward")
def attention_backward(
    node: Node, dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, logsumexp: Tensor,
    mask: Tensor | None = None, *, scale: float, causal: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    made: tuple[Tensor, ...] = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
        dout, q, k, v, out, logsumexp, 0.0, causal, attn_mask=_added(mask, q.dtype), scale=scale
    )
    return made


def _added(mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """A mask as numbers that are added to scores."""
    if mask is None or mask.dtype is not torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, -torch.inf)


@means("linear_cross_entropy")
def linear_cross_entropy(
    node: Node, x: Tensor, weight: Tensor, labels: Tensor, bias: Tensor | None = None, *, ignore_index: int, mean: bool,
    rows: int, gradients: Sequence[str],
) -> tuple[Tensor, ...]:  # fmt: skip
    return tuple(losses.linear_cross_entropy(x, weight, bias, labels, ignore_index, mean, rows, " ".join(gradients)))


@means("linear_cross_entropy_backward")
def linear_cross_entropy_backward(
    node: Node, x: Tensor, weight: Tensor, labels: Tensor, logsumexp: Tensor, scale: Tensor,
    bias: Tensor | None = None, *, ignore_index: int, rows: int, gradients: Sequence[str],
) -> tuple[Tensor, ...]:  # fmt: skip
    return tuple(
        losses.linear_cross_entropy_backward(
            x, weight, bias, labels, logsumexp, scale, ignore_index, rows, " ".join(gradients)
        )
    )


@means("lstm")
def lstm(
    node: Node, x: Tensor, h: Tensor, c: Tensor, *weights: Tensor, layers: int, bidirectional: bool, batch_first: bool,
    has_bias: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    return tuple(torch.lstm(x, (h, c), weights, has_bias, layers, 0.0, False, bidirectional, batch_first))


@means("gru", "rnn")
def recurrent(
    node: Node, x: Tensor, h: Tensor, *weights: Tensor, layers: int, bidirectional: bool, batch_first: bool,
    has_bias: bool, nonlinearity: str = "",
) -> tuple[Tensor, ...]:  # fmt: skip
    functions: dict[str, Meaning] = {"": torch.gru, "tanh": torch.rnn_tanh, "relu": torch.rnn_relu}
    return tuple(functions[nonlinearity](x, h, weights, has_bias, layers, 0.0, False, bidirectional, batch_first))


@means("recurrence")
def recurrence(node: Node, x: Tensor, *others: Tensor, cell: str, backwards: bool) -> tuple[Tensor, ...]:
    states = 2 if cell == "lstm" else 1
    begin, (weight, *bias) = others[:states], others[states:]
    return tuple(recurrences.recurrence(x, list(begin), weight, bias[0] if bias else None, cell, backwards))


@means("recurrence_backward")
def recurrence_backward(node: Node, *inputs: Tensor, cell: str, backwards: bool) -> tuple[Tensor, ...]:
    gradients = 2 if cell == "lstm" else 1
    given, kept, weight = inputs[:gradients], inputs[gradients:-1], inputs[-1]
    return tuple(recurrences.recurrence_backward(list(given), list(kept), weight, cell, backwards))
