"""Gradients of pooling and resampling.

Average pooling and linear resampling are linear maps along each space dimension: y = A·x, A of [outputs, inputs]. Their
gradient is dx = Aᵀ·dy, for which the matrix is made from two ranges. Where each output stands for a block of inputs,
the gradient repeats elements; where each input stands for a block of outputs, it adds up blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from strop.core.dtypes import is_float
from strop.frontend.torch.aten.nn import Sizes, per_dimension
from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import Unfit, aten
from strop.graph.ir import Node


@aten("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def max_pool_backward(
    b: Builder, dy: Node, x: Node, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil: bool,
    indices: Node,
) -> Node:  # fmt: skip
    space = _space(b, dy, x.shape)
    kernel = per_dimension(kernel, space)
    stride = per_dimension(stride, space) if stride or isinstance(stride, int) else kernel
    pads = tuple((p, p) for p in per_dimension(padding, space))
    return b.node("max_pool_backward", (dy, indices), x.type, kernel=kernel, stride=stride, padding=pads,
                  dilation=per_dimension(dilation, space))  # fmt: skip


@aten("avg_pool2d_backward")
def avg_pool_backward(
    b: Builder, dy: Node, x: Node, kernel: Sizes, stride: Sizes, padding: Sizes, ceil: bool, include_pad: bool,
    divisor: int | None,
) -> Node:  # fmt: skip
    space = _space(b, dy, x.shape)
    kernel = per_dimension(kernel, space)
    stride = per_dimension(stride, space) if stride or isinstance(stride, int) else kernel
    pads = per_dimension(padding, space)
    outputs, inputs = dy.shape[-space:], x.shape[-space:]
    if kernel == stride and not any(pads) and all(o * k == i for o, k, i in zip(outputs, kernel, inputs)):
        return _repeated(b, b.div(dy, float(divisor or kernel[0] * kernel[1])), kernel)
    matrices = []
    for extent, count, size, step, pad in zip(inputs, outputs, kernel, stride, pads):
        first = b.sub(b.mul(_outputs(b, count), step), pad)
        end = b.add(first, size)
        low, high = (-pad, extent + pad) if include_pad else (0, extent)
        counted = b.sub(b.binary("minimum", end, high), b.binary("maximum", first, low))
        matrices.append(_box(b, extent, first, end, None if divisor else counted, dy.dtype))
    made = _transposed_products(b, dy, matrices)
    return b.div(made, float(divisor)) if divisor else made


@aten("_adaptive_avg_pool2d_backward")
def adaptive_avg_pool_backward(b: Builder, dy: Node, x: Node) -> Node:
    space = _space(b, dy, x.shape)
    outputs, inputs = dy.shape[-space:], x.shape[-space:]
    if all(i % o == 0 for o, i in zip(outputs, inputs)):
        sizes = [i // o for o, i in zip(outputs, inputs)]
        return _repeated(b, b.div(dy, float(sizes[0] * sizes[1])), sizes)
    matrices = []
    for extent, count in zip(inputs, outputs):
        first = b.binary("floordiv", b.mul(_outputs(b, count), extent), count)
        end = b.binary("floordiv", b.add(b.mul(_outputs(b, count), extent), extent + count - 1), count)
        matrices.append(_box(b, extent, first, end, b.sub(end, first), dy.dtype))
    return _transposed_products(b, dy, matrices)


@aten("upsample_nearest1d_backward", "upsample_nearest2d_backward", "upsample_nearest3d_backward")
def nearest_backward(b: Builder, dy: Node, size: Sequence[int], shape: Sequence[int], *scales: float | None) -> Node:
    """Blocks of whole numbers of elements are added up."""
    space = _space(b, dy, shape)
    factors = [o // max(i, 1) for o, i in zip(dy.shape[-space:], shape[-space:])]
    wanted = [scale if scale else o / max(i, 1) for scale, o, i in zip(scales, dy.shape[-space:], shape[-space:])]
    if any(factor < 1 or factor != scale for factor, scale in zip(factors, wanted)):
        raise Unfit("the gradient of resampling by a factor that is no whole number")
    parts = [extent for i, factor in zip(shape[-space:], factors) for extent in (i, factor)]
    dims = tuple(dy.type.rank - space + 2 * axis + 1 for axis in range(space))
    return b.reduce("sum", b.reshape(dy, (*dy.shape[:-space], *parts)), dims)


@aten("upsample_linear1d_backward", "upsample_bilinear2d_backward")
def linear_backward(
    b: Builder, dy: Node, size: Sequence[int], shape: Sequence[int], align_corners: bool, *scales: float | None
) -> Node:
    """An output takes from inputs i what max(0, 1 - |place - i|) says, its place being one of theirs."""
    space = _space(b, dy, shape)
    matrices = []
    for extent, count, scale in zip(shape[-space:], dy.shape[-space:], scales):
        place = b.cast(_outputs(b, count), "f64")
        if align_corners:
            place = b.mul(place, (extent - 1) / (count - 1) if count > 1 else 0.0)
        else:
            place = b.sub(b.mul(b.add(place, 0.5), 1 / scale if scale else extent / count), 0.5)
        place = b.binary("minimum", b.binary("maximum", place, 0.0), extent - 1.0)
        distance = b.unary("abs", b.sub(place, b.cast(_inputs(b, extent), "f64")))
        matrices.append(b.cast(b.binary("maximum", b.sub(1.0, distance), 0.0), dy.dtype))
    return _transposed_products(b, dy, matrices)


def _space(b: Builder, dy: Node, shape: Sequence[int]) -> int:
    """How many space dimensions there are."""
    space = int(b.call.target.split("d_")[0][-1])
    if len(shape) != space + 2 or not is_float(dy.dtype):
        raise Unfit("the gradient of a window without a batch dimension, or of integers")
    return space


def _outputs(b: Builder, count: int) -> Node:
    return b.reshape(b.arange(count), (count, 1))


def _inputs(b: Builder, extent: int) -> Node:
    return b.reshape(b.arange(extent), (1, extent))


def _box(b: Builder, extent: int, first: Node, end: Node, counted: Node | None, dtype: str) -> Node:
    """1, or one over the number that count, for the inputs from `first` to before `end`."""
    place = _inputs(b, extent)
    within = b.binary("and", b.compare("ge", place, first), b.compare("lt", place, end))
    weight = b.full(1.0, dtype) if counted is None else b.div(b.full(1.0, dtype), b.cast(counted, dtype))
    return b.where(within, weight, 0.0)


def _repeated(b: Builder, x: Node, times: Sequence[int]) -> Node:
    """Every element of the space dimensions so many times."""
    lead = x.shape[: -len(times)]
    single = [extent for e in x.shape[-len(times) :] for extent in (e, 1)]
    spread = [extent for e, k in zip(x.shape[-len(times) :], times) for extent in (e, k)]
    whole = [e * k for e, k in zip(x.shape[-len(times) :], times)]
    return b.reshape(b.expand(b.reshape(x, (*lead, *single)), (*lead, *spread)), (*lead, *whole))


def _transposed_products(b: Builder, dy: Node, matrices: Sequence[Node]) -> Node:
    """Aᵀ·dy along each of one or two space dimensions."""
    made = b.matmul(dy, matrices[-1])
    return made if len(matrices) == 1 else b.matmul(b.permute(matrices[0], (1, 0)), made)
