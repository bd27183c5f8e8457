"""Products of quantised tensors with known weights, on their bytes.

    Σ (a - za)·(b - zb)  =  Σ a·(b - zb)  -  za·Σ (b - zb)

where a is taken as unsigned bytes, and b - zb as signed ones. Where the weights do not fit these, b - 128 is taken in
their place, which leaves an excess of (128 - zb)·Σ a. Everything is exact in 32 bits. Where that does not apply the
functions answer None, and floating point does the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch
import torch.nn.functional as F
from torch import Tensor

from strop.frontend.onnx.ops import known, made, scalar, tracing, whole
from strop.frontend.torch.aten.byte_products import packed

#: fewer terms or results are not worth the packing
FEWEST_TERMS, FEWEST_RESULTS = 16, 8
#: longer sums might leave 32 bits
MOST_TERMS = 2**31 // (255 * 256)
#: sums of weights that are kept for the points of an image
LARGEST_SUMS = 2**23
_CONVS = (F.conv1d, F.conv2d, F.conv3d)


@dataclass(frozen=True)
class ByteWeights:
    """Weights as signed bytes, packed along the summed dimension; what each row of them sums up to, by tap of a window
    and whole, and, where the bytes are not the weights, what every one of them lacks."""

    bytes: Tensor
    taps: Tensor
    sums: Tensor
    excess: Tensor | None


def weights_of(b: Tensor, zero: Tensor | None, kept: int) -> ByteWeights | None:
    """Of weights with results along `kept`, the first or the last dimension; the next one (or the other) is packed."""
    values, offset = known(b), known(zero) if zero is not None else None
    if values is None or (zero is not None and offset is None) or values.dtype not in (torch.int8, torch.uint8):
        return None

    def centred() -> Tensor:
        rows = values.to(torch.int32).movedim(kept, 0)
        return rows if offset is None else rows - offset.to(torch.int32).reshape(-1, *[1] * (rows.dim() - 1))

    rows = made(centred)
    excess = None
    terms = rows[0].numel() if rows.shape[0] else 0
    if rows.shape[0] < FEWEST_RESULTS or not FEWEST_TERMS <= terms <= MOST_TERMS:
        return None
    taps = made(rows.sum, 1, dtype=torch.int32)
    sums = made(lambda: taps.reshape(taps.shape[0], -1).sum(1, dtype=torch.int32))
    if scalar(made(rows.amin)) < -128 or scalar(made(rows.amax)) > 127:
        if values.dtype != torch.uint8 or offset is None:
            return None
        rows = made(lambda: values.to(torch.int32).movedim(kept, 0) - 128)
        excess = made(lambda: 128 - offset.to(torch.int32).reshape(-1))
    return ByteWeights(made(lambda: packed(rows & 0xFF, 1)), taps, sums, excess)


def unsigned(a: Tensor, zero: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Bytes and their zero point as whole numbers from 0 to 255."""
    shift = 128.0 if a.dtype == torch.int8 else 0.0
    value = whole(a, torch.float32)
    point = whole(zero, torch.float32).reshape(()) if zero is not None else None
    if shift:
        value, point = value + shift, (torch.full((), shift) if point is None else point + shift)
    return value, point


def matmul(a: Tensor, b: Tensor, a_zero: Tensor | None, b_zero: Tensor | None, columns: int = -1) -> Tensor | None:
    """(a - a_zero) @ (b - b_zero), or with the rows of b where `columns` is 0, in int32."""
    if not _fits(a, a_zero) or b.dim() != 2 or a.dim() < 1:
        return None
    weights = weights_of(b, b_zero, columns)
    return None if weights is None else times(*unsigned(a, a_zero), weights)


def times(value: Tensor, zero: Tensor | None, weights: ByteWeights) -> Tensor:
    """(value - zero) times the rows of the weights."""
    bytes = packed(value, -1)
    product: Tensor = torch.ops.strop.byte_linear(bytes, weights.bytes)
    if weights.excess is not None:
        product = product + torch.ops.strop.byte_linear(bytes, _ones(1, bytes.shape[-1])) * weights.excess
    return _centred(product, zero, weights.sums)


def conv(
    x: Tensor, w: Tensor, x_zero: Tensor | None, w_zero: Tensor | None, stride: Sequence[int], dilation: Sequence[int],
    before: Sequence[int], after: Sequence[int], groups: int,
) -> Tensor | None:  # fmt: skip
    """A convolution of x - x_zero, padded with zeros, with w - w_zero in int32."""
    rank = w.dim() - 2
    if not _fits(x, x_zero) or groups != 1 or not 1 <= rank <= 3 or w.shape[1] < 3 or min((*before, *after)) < 0:
        return None
    weights = weights_of(w, w_zero, 0)
    if weights is None:
        return None
    pads = [*before, *after]
    if any(pads) and (x_zero is not None or x.dtype == torch.int8) and w.shape[0] * prod(x.shape[2:]) > LARGEST_SUMS:
        return None
    value, zero = unsigned(x, x_zero)
    bytes = packed(value, 1)
    product: Tensor = torch.ops.strop.byte_conv(bytes, weights.bytes, list(stride), pads, list(dilation))
    one = [1] * rank
    if weights.excess is not None:
        pixels = torch.ops.strop.byte_conv(bytes, _ones(1, bytes.shape[1], *one), one, [0] * 2 * rank, one)
        window = made(torch.ones, 1, 1, *w.shape[2:])
        within = _CONVS[rank - 1](
            F.pad(pixels.to(torch.float32), _flat(before, after)), window, None, stride, 0, dilation
        )
        product = product + within.to(torch.int32) * weights.excess.reshape(-1, *one)
    sums = weights.sums.reshape(-1, *one)
    if zero is not None and any(pads):
        sums = _sums_inside(weights.taps, x.shape[2:], stride, dilation, before, after)
    return _centred(product, zero, sums)


def _flat(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """Paddings as torch wants them, the last dimension first."""
    return [p for pair in zip(reversed(before), reversed(after)) for p in pair]


def _sums_inside(
    taps: Tensor, space: Sequence[int], stride: Sequence[int], dilation: Sequence[int], before: Sequence[int],
    after: Sequence[int],
) -> Tensor:  # fmt: skip
    """The sums of those weights that meet the image and not its padding, for every point of the result.

    The zero points that a padding would hold never are in the products, so that plain zeros can be padded. Channels lie
    innermost in memory, as they do in the product.
    """

    def run() -> Tensor:
        rank = len(space)
        image = F.pad(torch.ones(1, 1, *space, dtype=torch.float64), _flat(before, after))
        sums = _CONVS[rank - 1](image, taps.unsqueeze(1).to(torch.float64), None, stride, 0, dilation)
        return sums[0].movedim(0, -1).to(torch.int32).contiguous()

    inside = made(run)
    return inside.permute(inside.dim() - 1, *range(inside.dim() - 1))


def _ones(*shape: int) -> Tensor:
    """A one in every byte."""
    return made(torch.full, shape, 0x01010101, dtype=torch.int32)


def _fits(a: Tensor, zero: Tensor | None) -> bool:
    """Whether a call brings the tensor, as bytes with one zero point."""
    one = zero is None or zero.numel() == 1
    return tracing() and a.dtype in (torch.int8, torch.uint8) and one and known(a) is None and a.numel() > 0


def _centred(product: Tensor, zero: Tensor | None, sums: Tensor) -> Tensor:
    if zero is None:
        return product
    fixed = known(zero)
    if fixed is not None:
        point = int(scalar(fixed))
        return product - made(torch.mul, sums, point) if point else product
    return product - zero.to(torch.int32) * sums
