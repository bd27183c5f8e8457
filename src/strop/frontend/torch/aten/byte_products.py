"""Products of quantised tensors: four bytes in every i32 of both sides, which one instruction multiplies and adds.

`packed` puts the k-th bytes of the four quarters of a dimension together, so that packing reads whole vectors; any
order serves as long as both sides share it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import RULES
from strop.graph.ir import Node, Type

BYTES = 4
_CONVS = (F.conv1d, F.conv2d, F.conv3d)


def packed(x: Tensor, dim: int) -> Tensor:
    """Whole numbers from 0 to 255, four to an int32; zeros fill up the dimension."""
    dim %= x.dim()
    short = -x.shape[dim] % BYTES
    if short:
        x = F.pad(x, [0, 0] * (x.dim() - 1 - dim) + [0, short])
    parts = x.chunk(BYTES, dim)
    low, high = (even + odd * 2**8 for even, odd in (parts[:2], parts[2:]))
    result: Tensor = low.to(torch.int32) + (high.to(torch.int32) << 16)
    return result


def unpacked(x: Tensor, dim: int, signed: bool) -> Tensor:
    """The other way round, as float64."""
    shifts = range(0, 8 * BYTES, 8)
    parts = [((x << (24 - s)) >> 24) if signed else ((x >> s) & 0xFF) for s in shifts]
    return torch.cat(parts, dim).to(torch.float64)


def _pairs(padding: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """What is padded before and after each dimension, of all befores and all afters."""
    rank = len(padding) // 2
    return tuple(zip(padding[:rank], padding[rank:]))


@torch.library.custom_op("strop::byte_linear", mutates_args=())
def byte_linear(x: Tensor, weight: Tensor) -> Tensor:
    """x @ weight.T on packed bytes: unsigned ones in x, signed ones in the weight."""
    return F.linear(unpacked(x, -1, False), unpacked(weight, -1, True)).to(torch.int32)


@byte_linear.register_fake
def _(x: Tensor, weight: Tensor) -> Tensor:
    return x.new_empty([*x.shape[:-1], weight.shape[0]])


@torch.library.custom_op("strop::byte_conv", mutates_args=())
def byte_conv(x: Tensor, weight: Tensor, stride: list[int], padding: list[int], dilation: list[int]) -> Tensor:
    """A convolution on bytes that are packed along the channels; zeros are padded before and after each dimension."""
    pads = [p for pair in reversed(_pairs(padding)) for p in pair]
    pixels = F.pad(unpacked(x, 1, False), pads)
    return _CONVS[len(stride) - 1](pixels, unpacked(weight, 1, True), None, stride, 0, dilation).to(torch.int32)


@byte_conv.register_fake
def _(x: Tensor, weight: Tensor, stride: list[int], padding: list[int], dilation: list[int]) -> Tensor:
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, weight.shape[2:])]
    extents = [(e + sum(p) - r) // s + 1 for e, p, r, s in zip(x.shape[2:], _pairs(padding), reach, stride)]
    return x.new_empty([x.shape[0], weight.shape[0], *extents])


def rounded_to_bytes(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The 256 evenly spaced values that just hold x and zero: which of them, their distance, which one is zero."""
    low, high = x.amin().clamp(max=0.0), x.amax().clamp(min=0.0)
    step = (high - low) / 255.0
    step = torch.where(step == 0, torch.ones_like(step), step)
    zero = torch.round((-low / step).clamp(0.0, 255.0))
    return (torch.round(x / step) + zero).clamp(0.0, 255.0), step, zero


@torch.library.custom_op("strop::byte_lstm", mutates_args=())
def byte_lstm(
    x: Tensor, h: Tensor, c: Tensor, weight: Tensor, sums: Tensor, scale: Tensor, backwards: bool
) -> list[Tensor]:
    """All outputs, the last states. Gates are input, output, forget, cell; x is the input's part of them."""
    made = []
    for part in x.flip(0) if backwards else x:
        value, step, zero = rounded_to_bytes(h)
        product = byte_linear(packed(value, -1), weight) - zero.to(torch.int32) * sums
        i, o, f, new = (part + product.to(torch.float32) * (step * scale)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(new)
        h = torch.sigmoid(o) * torch.tanh(c)
        made.append(h)
    return [torch.stack(made[::-1] if backwards else made), h.clone(), c.clone()]


@byte_lstm.register_fake
def _(x: Tensor, h: Tensor, c: Tensor, weight: Tensor, sums: Tensor, scale: Tensor, backwards: bool) -> list[Tensor]:
    return [x.new_empty([*x.shape[:2], h.shape[1]]), torch.empty_like(h), torch.empty_like(c)]


def _linear(b: Builder, x: Node, weight: Node) -> Node:
    return b.node("byte_linear", (x, weight), Type("i32", b.call.shape))


def _conv(
    b: Builder, x: Node, weight: Node, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> Node:
    return b.node("byte_conv", (x, weight), Type("i32", b.call.shape), stride=tuple(stride), padding=_pairs(padding),
                  dilation=tuple(dilation), groups=1, transposed=False)  # fmt: skip


def _lstm(
    b: Builder, x: Node, h: Node, c: Node, weight: Node, sums: Node, scale: Node, backwards: bool
) -> tuple[Node, ...]:
    node = b.node("byte_lstm", (x, h, c, weight, sums, scale), *b.call.types, backwards=bool(backwards))
    return tuple(b.node("item", (node,), type, index=i) for i, type in enumerate(b.call.types))


RULES["strop.byte_linear.default"] = _linear
RULES["strop.byte_lstm.default"] = _lstm
RULES["strop.byte_conv.default"] = _conv
