"""Convolutions and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

import torch
import torch.nn.functional as F
from torch import Tensor

from strop.frontend.onnx.ops import OnnxCall, Unsupported, byte_products, ints, made, onnx, scaled
from strop.frontend.onnx.ops.shapes import padded

_CONVS = (F.conv1d, F.conv2d, F.conv3d)
_TRANSPOSED = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)
_MAX_POOLS = (F.max_pool1d, F.max_pool2d, F.max_pool3d)
_AVG_POOLS = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)


def same_pads(
    extents: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], auto_pad: str,
    pads: Sequence[int] | None,
) -> tuple[list[int], list[int]]:  # fmt: skip
    """What is padded before and after each space dimension."""
    rank = len(kernel)
    if auto_pad in ("NOTSET", ""):
        given = list(pads) if pads else [0] * 2 * rank
        return given[:rank], given[rank:]
    if auto_pad == "VALID":
        return [0] * rank, [0] * rank
    if auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        raise Unsupported(f"auto_pad={auto_pad}")
    before, after = [], []
    for extent, k, s, d in zip(extents, kernel, stride, dilation):
        total = max((-(-extent // s) - 1) * s + (k - 1) * d + 1 - extent, 0)
        small, large = total // 2, total - total // 2
        before.append(small if auto_pad == "SAME_UPPER" else large)
        after.append(large if auto_pad == "SAME_UPPER" else small)
    return before, after


def _space_padded(x: Tensor, before: Sequence[int], after: Sequence[int], value: float) -> Tensor:
    return padded(x, [*before, *after], list(range(2, 2 + len(before))), "constant", value)


@onnx("Conv")
def conv(
    x: Tensor, w: Tensor, b: Tensor | None = None, *, auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None, group: int = 1, kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None, strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    rank = x.dim() - 2
    if not 1 <= rank <= 3:
        raise Unsupported(f"a convolution over {rank} dimensions")
    stride, dilation = list(strides or [1] * rank), list(dilations or [1] * rank)
    before, after = same_pads(x.shape[2:], w.shape[2:], stride, dilation, auto_pad, pads)

    def convolved(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        if before == after and all(p >= 0 for p in before):
            return _CONVS[rank - 1](x, w, b, stride, before, dilation, group)
        return _CONVS[rank - 1](_space_padded(x, before, after, 0), w, b, stride, [0] * rank, dilation, group)

    on_bytes = partial(
        byte_products.conv, stride=stride, dilation=dilation, before=before, after=after, groups=group
    )  # fmt: skip
    exact = scaled.product(convolved, on_bytes, x, w, 0, -1 - rank, b)
    return convolved(x, w, b) if exact is None else exact


@onnx("ConvTranspose")
def conv_transpose(
    x: Tensor, w: Tensor, b: Tensor | None = None, *, auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None, group: int = 1, kernel_shape: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None, output_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None, strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    rank = x.dim() - 2
    if not 1 <= rank <= 3:
        raise Unsupported(f"a transposed convolution over {rank} dimensions")
    stride, dilation = list(strides or [1] * rank), list(dilations or [1] * rank)
    extra = list(output_padding or [0] * rank)
    full = [(x.shape[2 + i] - 1) * stride[i] + (w.shape[2 + i] - 1) * dilation[i] + 1 for i in range(rank)]
    if output_shape is not None or auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = list(output_shape or [x.shape[2 + i] * stride[i] for i in range(rank)])[-rank:]
        total = [full[i] + extra[i] - wanted[i] for i in range(rank)]
        small = [t // 2 for t in total]
        large = [t - s for t, s in zip(total, small)]
        before, after = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
    else:
        before, after = same_pads(x.shape[2:], w.shape[2:], stride, dilation, auto_pad, pads)
    simple = before == after and all(0 <= e < max(s, d) for e, s, d in zip(extra, stride, dilation))
    if simple and min(before) >= 0:
        return _TRANSPOSED[rank - 1](x, w, b, stride, before, extra, group, dilation)
    whole = _TRANSPOSED[rank - 1](x, w, b, stride, 0, 0, group, dilation)
    if not any(extra):
        return _space_padded(whole, [-p for p in before], [-p for p in after], 0)
    bias = torch.zeros(whole.shape[1], dtype=x.dtype) if b is None else b
    shape = [1, -1, *[1] * rank]
    plain = whole - bias.reshape(shape)
    grown = _space_padded(plain, [-p for p in before], [e - p for e, p in zip(extra, after)], 0)
    return grown + bias.reshape(shape)


def _pool_geometry(
    x: Tensor, kernel: Sequence[int], strides: Sequence[int] | None, dilations: Sequence[int] | None,
    pads: Sequence[int] | None, auto_pad: str, ceil_mode: int,
) -> tuple[list[int], list[int], list[int], list[int], list[int]]:  # fmt: skip
    """Stride, dilation, padding before, padding after, and what rounding up reaches beyond the padding."""
    rank = len(kernel)
    stride, dilation = list(strides or [1] * rank), list(dilations or [1] * rank)
    before, after = same_pads(x.shape[2:], kernel, stride, dilation, auto_pad, pads)
    beyond = [0] * rank
    if ceil_mode:
        for i in range(rank):
            extent, span = x.shape[2 + i] + before[i] + after[i], dilation[i] * (kernel[i] - 1) + 1
            count = -(-(extent - span) // stride[i]) + 1
            if (count - 1) * stride[i] >= x.shape[2 + i] + before[i]:
                count -= 1  # a window must start inside the tensor or the padding before it
            beyond[i] = max((count - 1) * stride[i] + span - extent, 0)
    return stride, dilation, before, after, beyond


@onnx("MaxPool")
def max_pool(
    x: Tensor, *, kernel_shape: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
    dilations: Sequence[int] | None = None, pads: Sequence[int] | None = None, storage_order: int = 0,
    strides: Sequence[int] | None = None, node: OnnxCall,
) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
    kernel = list(kernel_shape)
    rank = len(kernel)
    if not 1 <= rank <= 3:
        raise Unsupported(f"pooling over {rank} dimensions")
    stride, dilation, before, after, beyond = _pool_geometry(
        x, kernel, strides, dilations, pads, auto_pad, ceil_mode
    )  # fmt: skip
    y = x if x.is_floating_point() else x.to(torch.float32 if x.dtype in (torch.int8, torch.uint8) else torch.float64)
    if before != after or any(beyond) or any(2 * p > k for p, k in zip(before, kernel)):
        y = _space_padded(y, before, [a + extra for a, extra in zip(after, beyond)], float("-inf"))
        padding, shift = [0] * rank, before
    else:
        padding, shift = before, [0] * rank
    if not node.wants(1):
        return _MAX_POOLS[rank - 1](y, kernel, stride, padding, dilation).to(x.dtype)
    values, indices = _MAX_POOLS[rank - 1](y, kernel, stride, padding, dilation, return_indices=True)
    return values.to(x.dtype), _flat_indices(indices, x.shape, y.shape, shift, storage_order)


def _flat_indices(
    indices: Tensor, shape: Sequence[int], padded_shape: Sequence[int], shift: Sequence[int], column_major: int
) -> Tensor:
    """From places in the padded space of one channel to places in the whole tensor."""
    places = []
    for extent, before in zip(reversed(padded_shape[2:]), reversed(list(shift))):
        places.append(torch.remainder(indices, extent) - before)
        indices = torch.div(indices, extent, rounding_mode="floor")
    space = list(shape[2:])
    order = list(zip(reversed(places), space))
    flat = torch.zeros_like(indices)
    for place, extent in reversed(order) if column_major else order:
        flat = flat * extent + place
    channels = torch.arange(shape[0] * shape[1]).reshape(shape[0], shape[1], *[1] * len(space))
    return flat + channels * prod(space)


@onnx("AveragePool")
def average_pool(
    x: Tensor, *, kernel_shape: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
    count_include_pad: int = 0, dilations: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    kernel = list(kernel_shape)
    rank = len(kernel)
    if not 1 <= rank <= 3:
        raise Unsupported(f"pooling over {rank} dimensions")
    stride, dilation, before, after, beyond = _pool_geometry(
        x, kernel, strides, dilations, pads, auto_pad, ceil_mode
    )  # fmt: skip
    plain = before == after and not any(beyond) and max(dilation) == 1
    if plain and all(2 * p <= k for p, k in zip(before, kernel)):
        return _AVG_POOLS[rank - 1](x, kernel, stride, before, False, bool(count_include_pad))
    whole = [a + extra for a, extra in zip(after, beyond)]
    total = _window_sum(_space_padded(x, before, whole, 0), kernel, stride, dilation)
    counted = torch.ones([1, 1, *x.shape[2:]], dtype=x.dtype)
    counted = _space_padded(counted, before, after, float(count_include_pad))
    counted = _space_padded(counted, [0] * rank, beyond, 0)
    return total / _window_sum(counted, kernel, stride, dilation)


def _window_sum(x: Tensor, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Tensor:
    n, c = x.shape[:2]
    ones = torch.ones([1, 1, *kernel], dtype=x.dtype)
    summed = _CONVS[len(kernel) - 1](x.reshape(n * c, 1, *x.shape[2:]), ones, None, list(stride), 0, list(dilation))
    return summed.reshape(n, c, *summed.shape[2:])


@onnx("LpPool")
def lp_pool(
    x: Tensor, *, kernel_shape: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
    dilations: Sequence[int] | None = None, p: int = 2, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    kernel = list(kernel_shape)
    stride, dilation, before, after, beyond = _pool_geometry(
        x, kernel, strides, dilations, pads, auto_pad, ceil_mode
    )  # fmt: skip
    whole = [a + extra for a, extra in zip(after, beyond)]
    return _window_sum(_space_padded(x.abs() ** p, before, whole, 0), kernel, stride, dilation) ** (1 / p)


def _space(x: Tensor) -> list[int]:
    return list(range(2, x.dim()))


@onnx("GlobalAveragePool")
def global_average_pool(x: Tensor) -> Tensor:
    return x.mean(_space(x), keepdim=True)


@onnx("GlobalMaxPool")
def global_max_pool(x: Tensor) -> Tensor:
    return x.amax(_space(x), keepdim=True)


@onnx("GlobalLpPool")
def global_lp_pool(x: Tensor, *, p: int = 2) -> Tensor:
    return (x.abs() ** p).sum(_space(x), keepdim=True) ** (1 / p)


@onnx("MaxUnpool")
def max_unpool(
    x: Tensor, indices: Tensor, output_shape: Tensor | None = None, *, kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None, strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Indices are places in the tensor that was pooled, which may be smaller than the one asked for."""
    rank = len(kernel_shape)
    stride = list(strides or [1] * rank)
    edges = list(pads or [0] * 2 * rank)
    space = [(x.shape[2 + i] - 1) * stride[i] - edges[i] - edges[rank + i] + kernel_shape[i] for i in range(rank)]
    shape = [*x.shape[:2], *space]
    flat = torch.zeros(prod(shape), dtype=x.dtype).scatter(0, indices.reshape(-1), x.reshape(-1))
    result = flat.reshape(shape)
    if output_shape is None:
        return result
    wanted = ints(output_shape, "the output's shape")
    return _space_padded(result, [0] * rank, [w - s for w, s in zip(wanted[2:], space)], 0)


@onnx("CausalConvWithState")
def causal_conv_with_state(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, past: Tensor | None = None, *, activation: str = "none"
) -> tuple[Tensor, Tensor]:
    """A depthwise convolution over time that continues where the state left off."""
    reach = weight.shape[-1] - 1
    if past is None:
        past = torch.zeros([*x.shape[:2], reach], dtype=x.dtype)
    whole = torch.cat([past, x], -1)
    y = F.conv1d(whole, weight, bias, groups=x.shape[1])
    if activation in ("silu", "swish"):
        y = F.silu(y)
    elif activation != "none":
        raise Unsupported(f"the activation `{activation}`")
    return y, whole.narrow(-1, whole.shape[-1] - reach, reach)


@onnx("DeformConv")
def deform_conv(
    x: Tensor, w: Tensor, offset: Tensor, b: Tensor | None = None, mask: Tensor | None = None, *,
    dilations: Sequence[int] | None = None, group: int = 1, kernel_shape: Sequence[int] | None = None,
    offset_group: int = 1, pads: Sequence[int] | None = None, strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Bilinear samples at every kernel point's own place, then a product with the weights."""
    if x.dim() != 4:
        raise Unsupported(f"a deformable convolution over {x.dim() - 2} dimensions")
    n, c, height, width = x.shape
    kh, kw = w.shape[2:]
    sh, sw = strides or (1, 1)
    dh, dw = dilations or (1, 1)
    top, left = list(pads or [0] * 4)[:2]
    oh, ow = offset.shape[2:]
    shifts = offset.reshape(n, offset_group, kh * kw, 2, oh, ow)
    grid = made(torch.tensor, [(i * dh, j * dw) for i in range(kh) for j in range(kw)], dtype=x.dtype)
    rows = (torch.arange(oh, dtype=x.dtype) * sh - top).reshape(-1, 1)
    columns = (torch.arange(ow, dtype=x.dtype) * sw - left).reshape(1, -1)
    places_y = shifts[:, :, :, 0] + grid[:, 0].reshape(-1, 1, 1) + rows
    places_x = shifts[:, :, :, 1] + grid[:, 1].reshape(-1, 1, 1) + columns
    images = x.reshape(n, offset_group, c // offset_group, height * width)
    samples = _bilinear(images, places_y, places_x, height, width)
    if mask is not None:
        samples = samples * mask.reshape(n, offset_group, 1, kh * kw, oh, ow)
    columns_of = samples.reshape(n, group, c // group * kh * kw, oh * ow)
    weights = w.reshape(group, w.shape[0] // group, -1)
    y = torch.matmul(weights, columns_of).reshape(n, w.shape[0], oh, ow)
    return y if b is None else y + b.reshape(1, -1, 1, 1)


def _bilinear(images: Tensor, y: Tensor, x: Tensor, height: int, width: int) -> Tensor:
    """Samples of flattened images (n, groups, channels, height·width) at places (n, groups, …); zero outside."""
    n, groups, channels = images.shape[:3]
    low_y, low_x = y.floor(), x.floor()
    total = torch.zeros((), dtype=images.dtype)
    for at_y, weight_y in ((low_y, low_y + 1 - y), (low_y + 1, y - low_y)):
        for at_x, weight_x in ((low_x, low_x + 1 - x), (low_x + 1, x - low_x)):
            inside = (at_y >= 0) & (at_y < height) & (at_x >= 0) & (at_x < width)
            flat = at_y.clamp(0, height - 1) * width + at_x.clamp(0, width - 1)
            places = flat.to(torch.int64).reshape(n, groups, 1, -1).expand(-1, -1, channels, -1)
            value = torch.gather(images, 3, places).reshape(n, groups, channels, *y.shape[2:])
            weight = torch.where(inside, weight_y * weight_x, torch.zeros_like(y)).unsqueeze(2)
            total = total + value * weight
    return total
