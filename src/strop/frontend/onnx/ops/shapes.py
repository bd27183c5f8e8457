"""Shapes as values, new shapes for values, and moving elements without computing."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from strop.frontend.onnx.ops import OnnxCall, Unsupported, counters, floats, ints, made, numbers, onnx, scalar
from strop.frontend.torch.builder import broadcast

#: no model repeats its input more often than that
LONGEST_PAD = 2**22


@onnx("Shape")
def shape(x: Tensor, *, start: int = 0, end: int | None = None) -> Tensor:
    return made(torch.tensor, list(x.shape)[slice(start, end)], dtype=torch.int64)


@onnx("Size")
def size(x: Tensor) -> Tensor:
    return made(torch.tensor, x.numel(), dtype=torch.int64)


@onnx("Reshape")
def reshape(x: Tensor, shape: Tensor, *, allowzero: int = 0) -> Tensor:
    wanted = ints(shape, "the shape")
    if wanted.count(-1) > 1:
        raise Unsupported(f"more than one extent of {wanted} is left open")
    if not allowzero:
        wanted = [x.shape[i] if extent == 0 and i < x.dim() else extent for i, extent in enumerate(wanted)]
    return x.reshape(wanted)


@onnx("Flatten")
def flatten(x: Tensor, *, axis: int = 1) -> Tensor:
    axis = axis + x.dim() if axis < 0 else axis
    rows = 1
    for extent in x.shape[:axis]:
        rows *= extent
    columns = 1
    for extent in x.shape[axis:]:
        columns *= extent
    return x.reshape(rows, columns)


@onnx("Transpose")
def transpose(x: Tensor, *, perm: Sequence[int] | None = None) -> Tensor:
    return x.permute(list(reversed(range(x.dim()))) if perm is None else list(perm))


@onnx("Squeeze", until=12)
def squeeze_by_attribute(x: Tensor, *, axes: Sequence[int] | None = None) -> Tensor:
    return x.squeeze() if axes is None else x.squeeze(tuple(axes))


@onnx("Squeeze", since=13)
def squeeze(x: Tensor, axes: Tensor | None = None) -> Tensor:
    chosen = None if axes is None else ints(axes, "the axes")
    for axis in chosen or ():
        if x.shape[axis] != 1:
            raise Unsupported(f"axis {axis} has {x.shape[axis]} elements, so it cannot be squeezed")
    return squeeze_by_attribute(x, axes=chosen)


@onnx("Unsqueeze", until=12)
def unsqueeze_by_attribute(x: Tensor, *, axes: Sequence[int]) -> Tensor:
    rank = x.dim() + len(axes)
    places = {axis % rank for axis in axes}
    if len(places) != len(axes):
        raise Unsupported(f"axes {list(axes)} repeat")
    extents = iter(x.shape)
    return x.reshape([1 if i in places else next(extents) for i in range(rank)])


@onnx("Unsqueeze", since=13)
def unsqueeze(x: Tensor, axes: Tensor) -> Tensor:
    return unsqueeze_by_attribute(x, axes=ints(axes, "the axes"))


@onnx("Expand")
def expand(x: Tensor, shape: Tensor) -> Tensor:
    return x.expand(broadcast(x.shape, ints(shape, "the shape")))


@onnx("Tile")
def tile(x: Tensor, repeats: Tensor) -> Tensor:
    return x.repeat(ints(repeats, "the repeats"))


@onnx("Concat")
def concat(*inputs: Tensor, axis: int) -> Tensor:
    return torch.cat(inputs, axis)


@onnx("Split", until=12)
def split_by_attribute(
    x: Tensor, *, axis: int = 0, split: Sequence[int] | None = None, node: OnnxCall
) -> tuple[Tensor, ...]:
    return _split(x, axis, split, len(node.outputs))


@onnx("Split", since=13)
def split(
    x: Tensor, sizes: Tensor | None = None, *, axis: int = 0, num_outputs: int | None = None, node: OnnxCall
) -> tuple[Tensor, ...]:
    return _split(x, axis, None if sizes is None else ints(sizes, "the sizes"), num_outputs or len(node.outputs))


def _split(x: Tensor, axis: int, sizes: Sequence[int] | None, count: int) -> tuple[Tensor, ...]:
    """Equal parts without sizes; the last is smaller where they do not divide."""
    extent = x.shape[axis]
    if sizes is None:
        part = -(-extent // count)
        sizes = [max(0, min(part, extent - part * i)) for i in range(count)]
    if sum(sizes) != extent:
        raise Unsupported(f"parts of {list(sizes)} do not make up {extent}")
    return tuple(torch.split(x, list(sizes), axis))


@onnx("Slice", until=9)
def slice_by_attributes(
    x: Tensor, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None = None
) -> Tensor:
    return _sliced(x, starts, ends, axes, None)


@onnx("Slice", since=10)
def slice_(x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None = None, steps: Tensor | None = None) -> Tensor:
    if starts.numel() == 1 and (steps is None or numbers(steps) == [1]):
        axis = 0 if axes is None else int(scalar(axes, "the axes"))
        counted = counters.sliced(x, starts, ends, axis)
        if counted is not None:
            return counted
    return _sliced(
        x,
        ints(starts, "where the slice starts"),
        ints(ends, "where the slice ends"),
        None if axes is None else ints(axes, "the axes"),
        None if steps is None else ints(steps, "the steps"),
    )


def _sliced(
    x: Tensor, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None, steps: Sequence[int] | None
) -> Tensor:
    for i, (start, end) in enumerate(zip(starts, ends)):
        axis = axes[i] if axes is not None else i
        taken = range(x.shape[axis])[slice(start, end, steps[i] if steps is not None else 1)]
        first, last, step = (taken[0], taken[-1], taken.step) if len(taken) else (0, -1, 1)
        if step > 0:
            x = torch.ops.aten.slice.Tensor(x, axis, first, last + 1, step)
        else:
            x = torch.ops.aten.slice.Tensor(x, axis, last, first + 1, -step).flip([axis])
    return x


@onnx("Pad", until=10)
def pad_by_attributes(x: Tensor, *, pads: Sequence[int], mode: str = "constant", value: float = 0.0) -> Tensor:
    return padded(x, pads, list(range(x.dim())), mode, value)


@onnx("Pad", since=11)
def pad(
    x: Tensor, pads: Tensor, value: Tensor | None = None, axes: Tensor | None = None, *, mode: str = "constant"
) -> Tensor:
    chosen = list(range(x.dim())) if axes is None else [a % x.dim() for a in ints(axes, "the axes")]
    fill = 0 if value is None or value.numel() == 0 else scalar(value, "the value to pad with")
    return padded(x, ints(pads, "the pads"), chosen, mode, fill)


def padded(x: Tensor, pads: Sequence[int], axes: Sequence[int], mode: str, value: float) -> Tensor:
    """Pads of all axes before, then of all axes after; negative ones crop."""
    pairs = [(0, 0)] * x.dim()
    for i, axis in enumerate(axes):
        pairs[axis] = (pads[i], pads[i + len(axes)])
    if mode == "constant":
        flat = [extent for before, after in reversed(pairs) for extent in (before, after)]
        while len(flat) > 2 and flat[-2:] == [0, 0]:
            del flat[-2:]
        return F.pad(x, flat, value=value) if any(flat) else x
    for axis, (before, after) in enumerate(pairs):
        if not before and not after:
            continue
        if x.shape[axis] == 0:
            raise Unsupported(f"axis {axis} is empty, so there is nothing to pad with")
        if max(before, after) > LONGEST_PAD:
            raise Unsupported(f"padding of {max(before, after)} elements, which repeats the input")
        x = _padded_axis(x, axis, before, after, mode)
    return x


def _padded_axis(x: Tensor, axis: int, before: int, after: int, mode: str) -> Tensor:
    extent = x.shape[axis]
    longest = {"edge": LONGEST_PAD, "reflect": extent - 1, "wrap": extent}.get(mode, 0)
    if x.is_floating_point() and min(before, after) >= 0 and max(before, after) <= longest and x.numel():
        turned = x.movedim(axis, -1)
        rows = turned.reshape(1, -1, extent)
        made_rows = F.pad(rows, (before, after), mode=_TORCH_MODES[mode])
        return made_rows.reshape(*turned.shape[:-1], -1).movedim(-1, axis)
    return x.index_select(axis, made(torch.tensor, _outside(extent, before, after, mode)))


_TORCH_MODES = {"edge": "replicate", "reflect": "reflect", "wrap": "circular"}


def _outside(extent: int, before: int, after: int, mode: str) -> list[int]:
    """Where each element of a padded axis comes from."""
    wanted = range(-before, extent + after)
    if mode == "edge":
        return [min(max(i, 0), extent - 1) for i in wanted]
    if mode == "wrap":
        return [i % extent for i in wanted]
    if mode == "reflect":
        period = max(2 * (extent - 1), 1)
        return [min(i % period, period - i % period) if extent > 1 else 0 for i in wanted]
    raise Unsupported(f"padding of mode `{mode}`")


@onnx("CenterCropPad")
def center_crop_pad(x: Tensor, shape: Tensor, *, axes: Sequence[int] | None = None) -> Tensor:
    chosen = list(range(x.dim())) if axes is None else list(axes)
    for axis, wanted in zip(chosen, ints(shape, "the shape")):
        extent = x.shape[axis]
        if extent > wanted:
            x = x.narrow(axis, (extent - wanted) // 2, wanted)
        elif extent < wanted:
            before = (wanted - extent) // 2
            pads = [before, wanted - extent - before]
            x = padded(x, pads, [axis % x.dim()], "constant", 0)
    return x


@onnx("DepthToSpace")
def depth_to_space(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    n, c, h, w = x.shape
    b = blocksize
    if mode == "CRD":
        return F.pixel_shuffle(x, b)
    return x.reshape(n, b, b, c // (b * b), h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)


@onnx("SpaceToDepth")
def space_to_depth(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    n, c, h, w = x.shape
    b = blocksize
    blocks = x.reshape(n, c, h // b, b, w // b, b)
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return blocks.permute(order).reshape(n, c * b * b, h // b, w // b)


@onnx("Trilu")
def trilu(x: Tensor, k: Tensor | None = None, *, upper: int = 1) -> Tensor:
    diagonal = 0 if k is None else int(scalar(k, "the diagonal"))
    return torch.triu(x, diagonal) if upper else torch.tril(x, diagonal)


@onnx("ReverseSequence")
def reverse_sequence(x: Tensor, lengths: Tensor, *, batch_axis: int = 1, time_axis: int = 0) -> Tensor:
    """Element t of a batch entry comes from its length - 1 - t as long as that is not negative."""
    steps = torch.arange(x.shape[time_axis], dtype=torch.int64)
    shape = [1] * x.dim()
    shape[time_axis] = -1
    along = steps.reshape(shape)
    shape = [1] * x.dim()
    shape[batch_axis] = -1
    length = lengths.to(torch.int64).reshape(shape)
    places = torch.where(along < length, length - 1 - along, along)
    return torch.gather(x, time_axis, places.expand(x.shape))


@onnx("Col2Im")
def col2im(
    x: Tensor, image: Tensor, block: Tensor, *, dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None, strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Blocks are added where they overlap: a transposed convolution with one-hot weights."""
    size, kernel = ints(image, "the image's shape"), ints(block, "the block's shape")
    rank = len(size)
    dilation, stride = list(dilations or [1] * rank), list(strides or [1] * rank)
    before, after = list(pads or [0] * 2 * rank)[:rank], list(pads or [0] * 2 * rank)[rank:]
    area = 1
    for extent in kernel:
        area *= extent
    counts = [
        (size[i] + before[i] + after[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(rank)
    ]
    channels = x.shape[1] // area
    columns = x.reshape(x.shape[0] * channels, area, *counts)
    weight = torch.eye(area, dtype=x.dtype).reshape(area, 1, *kernel)
    transposed = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
    whole = transposed(columns, weight, stride=stride, dilation=dilation)
    missing = [size[i] + before[i] + after[i] - whole.shape[2 + i] for i in range(rank)]
    whole = padded(whole, [*[0] * rank, *missing], list(range(2, 2 + rank)), "constant", 0)
    for i in range(rank):
        whole = whole.narrow(2 + i, before[i], size[i])
    return whole.reshape(x.shape[0], channels, *size)


@onnx("Upsample", until=9)
def upsample(
    x: Tensor, scales_input: Tensor | None = None, *, scales: Sequence[float] | None = None, mode: str = "nearest"
) -> Tensor:
    from strop.frontend.onnx.ops.resize import resized

    factors = floats(scales_input, "the scales") if scales_input is not None else list(scales or ())
    return resized(x, list(range(x.dim())), factors, None, mode=mode, coordinates="asymmetric", nearest="floor")
