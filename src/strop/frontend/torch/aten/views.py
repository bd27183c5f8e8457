"""Views and copies that only say where elements live, and the ways of putting tensors together."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from strop.core.dtypes import NATIVE
from strop.core.problem import Problem
from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import Unfit, aten
from strop.graph.ir import Node, Type


def wrap(dim: int, rank: int) -> int:
    return dim + max(rank, 1) if dim < 0 else dim


# nothing at all


@aten("clone", "contiguous", "alias", "alias_copy", "detach", "detach_copy", "lift_fresh", "lift_fresh_copy", "lift",
      "resolve_conj", "resolve_neg")  # fmt: skip
def same(b: Builder, x: Node, *_: Any) -> Node:
    return x


@aten("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def dropout(b: Builder, x: Node, p: float, train: bool) -> Node:
    if train and p > 0:
        raise Unfit("dropout in training draws random numbers")
    return x


@aten("native_dropout")
def native_dropout(b: Builder, x: Node, p: float, train: bool | None) -> tuple[Node, ...]:
    """Only the mask is drawn in the library. A probability of 0 draws, too.

    What is dropped is multiplied by 0, as in eager mode: NaN and infinities stay NaN.
    """
    if train is False:
        return x, b.full(True, "bool", x.shape)
    mask = b.mask(1 - p)
    scale = 1 / (1 - p) if p < 1 else 0.0
    return b.mul(b.mul(x, b.cast(mask, x.dtype)), scale), mask


# reshapes


@aten("view", "_unsafe_view", "reshape", "view_copy", "_reshape_copy", "_reshape_alias", "_reshape_alias_copy",
      "flatten.using_ints", "unflatten.int", "squeeze", "squeeze.dim", "squeeze.dims", "squeeze_copy",
      "squeeze_copy.dim", "squeeze_copy.dims", "unsqueeze", "unsqueeze_copy", "view_as", "reshape_as",
      "ravel", "atleast_1d", "atleast_2d")  # fmt: skip
def reshape(b: Builder, x: Node, *_: Any) -> Node:
    return b.reshape(x, b.call.shape)


@aten("expand", "expand_copy", "broadcast_to", "expand_as")
def expand(b: Builder, x: Node, *_: Any) -> Node:
    return b.expand(x, b.call.shape)


@aten("repeat", "tile")
def repeat(b: Builder, x: Node, repeats: Sequence[int]) -> Node:
    rank = max(len(repeats), x.type.rank)
    times = (1,) * (rank - len(repeats)) + tuple(repeats)
    shape = (1,) * (rank - x.type.rank) + x.shape
    if all(count == 1 for count in times):
        return b.reshape(x, shape)
    apart = b.reshape(x, [extent for e in shape for extent in (1, e)])
    return b.reshape(b.expand(apart, [extent for pair in zip(times, shape) for extent in pair]), b.call.shape)


@aten("repeat_interleave.self_int")
def repeat_interleave(b: Builder, x: Node, repeats: int, dim: int | None, output_size: int | None = None) -> Node:
    if dim is None:
        x, dim = b.reshape(x, (x.type.size,)), 0
    dim = wrap(dim, x.type.rank)
    apart = b.unsqueeze(x, dim + 1)
    return b.reshape(b.expand(apart, (*x.shape[: dim + 1], repeats, *x.shape[dim + 1 :])), b.call.shape)


# permutations


@aten("permute", "permute_copy")
def permute(b: Builder, x: Node, dims: Sequence[int]) -> Node:
    return b.permute(x, [wrap(d, x.type.rank) for d in dims])


@aten("transpose.int", "transpose_copy.int", "swapaxes", "swapdims")
def transpose(b: Builder, x: Node, a: int, c: int) -> Node:
    return b.swap(x, wrap(a, x.type.rank), wrap(c, x.type.rank)) if x.type.rank else x


@aten("t", "t_copy", "mT", "adjoint", "matrix_H")
def t(b: Builder, x: Node) -> Node:
    return x if x.type.rank < 2 else b.swap(x, x.type.rank - 2, x.type.rank - 1)


@aten("numpy_T")
def reverse(b: Builder, x: Node) -> Node:
    return b.permute(x, range(x.type.rank)[::-1])


@aten("movedim.intlist", "movedim.int")
def movedim(b: Builder, x: Node, source: Any, target: Any) -> Node:
    rank = x.type.rank
    sources = [wrap(d, rank) for d in (source if isinstance(source, (list, tuple)) else [source])]
    targets = [wrap(d, rank) for d in (target if isinstance(target, (list, tuple)) else [target])]
    rest = iter(d for d in range(rank) if d not in sources)
    return b.permute(x, [sources[targets.index(d)] if d in targets else next(rest) for d in range(rank)])


# parts


@aten("slice.Tensor", "slice_copy.Tensor")
def slice_(b: Builder, x: Node, dim: int = 0, start: int | None = None, stop: int | None = None, step: int = 1) -> Node:
    dim = wrap(dim, x.type.rank)
    first, last, _ = slice(start, stop, step).indices(x.shape[dim])
    return b.slice(x, dim, first, max(first, last), step)


@aten("narrow")
def narrow(b: Builder, x: Node, dim: int, start: int, length: int) -> Node:
    dim = wrap(dim, x.type.rank)
    start = start + x.shape[dim] if start < 0 else start
    return b.slice(x, dim, start, start + length)


@aten("select.int", "select_copy.int")
def select(b: Builder, x: Node, dim: int, index: int) -> Node:
    dim = wrap(dim, x.type.rank)
    return b.select(x, dim, index + x.shape[dim] if index < 0 else index)


@aten("unbind.int", "unbind_copy.int")
def unbind(b: Builder, x: Node, dim: int = 0) -> tuple[Node, ...]:
    dim = wrap(dim, x.type.rank)
    return tuple(b.select(x, dim, i) for i in range(x.shape[dim]))


@aten("split.Tensor", "split_copy.Tensor", "split_with_sizes", "split_with_sizes_copy", "split.sizes", "chunk",
      "unsafe_split.Tensor", "unsafe_split_with_sizes", "unsafe_chunk", "tensor_split.sections",
      "tensor_split.indices")  # fmt: skip
def split(b: Builder, x: Node, sizes: Any, dim: int = 0) -> tuple[Node, ...]:
    """The results' own extents say where the cuts are."""
    dim = wrap(dim, x.type.rank)
    parts, start = [], 0
    for type in b.call.types:
        stop = start + type.shape[dim]
        parts.append(b.slice(x, dim, start, stop))
        start = stop
    return tuple(parts)


@aten("diagonal", "diagonal_copy")
def diagonal(b: Builder, x: Node, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Node:
    dim1, dim2 = wrap(dim1, x.type.rank), wrap(dim2, x.type.rank)
    return b.node("diagonal", (x,), Type(x.dtype, b.call.shape), offset=offset, dim1=dim1, dim2=dim2)


@aten("unfold", "unfold_copy")
def unfold(b: Builder, x: Node, dim: int, size: int, step: int) -> Node:
    if not x.type.rank:
        return b.reshape(x, b.call.shape)
    return b.node("unfold", (x,), Type(x.dtype, b.call.shape), dim=wrap(dim, x.type.rank), size=size, step=step)


@aten("flip")
def flip(b: Builder, x: Node, dims: Sequence[int]) -> Node:
    chosen = tuple(sorted({wrap(d, x.type.rank) for d in dims}))
    return b.node("flip", (x,), x.type, dims=chosen) if chosen and x.type.rank else x


@aten("fliplr")
def fliplr(b: Builder, x: Node) -> Node:
    return flip(b, x, (1,))


@aten("flipud")
def flipud(b: Builder, x: Node) -> Node:
    return flip(b, x, (0,))


@aten("as_strided", "as_strided_copy")
def as_strided(b: Builder, x: Node, size: Sequence[int], stride: Sequence[int], offset: int | None = None) -> Node:
    """Elements by their place in storage."""
    flat = b.reshape(b.permute(x, _storage_order(b, x)), (x.type.size,))
    place = _strided_places(b, size, stride, offset)
    return b.node("index", (flat, place), b.call.types[0], dims=(0,))


@aten("as_strided_scatter")
def as_strided_scatter(
    b: Builder, x: Node, src: Node, size: Sequence[int], stride: Sequence[int], offset: int | None = None
) -> Node:
    order = _storage_order(b, x)
    stored = b.permute(x, order)
    flat = b.reshape(stored, (x.type.size,))
    place = _strided_places(b, size, stride, offset)
    put = b.node("index_put", (flat, b.cast(src, x.dtype), place), flat.type, dims=(0,), accumulate=False)
    return b.permute(b.reshape(put, stored.shape), [order.index(d) for d in range(len(order))])


def _storage_order(b: Builder, x: Node) -> list[int]:
    """The dimensions from the slowest to the fastest in storage, if the tensor fills its storage without gaps."""
    value = b.call.values[0]
    order = sorted(range(x.type.rank), key=lambda d: (-value.stride(d), d))
    stored = value.permute(order)
    filled = stored.is_contiguous() and not value.storage_offset()
    filled = filled and value.untyped_storage().nbytes() == x.type.bytes
    if not filled or (x.dtype not in NATIVE and order != list(range(x.type.rank))):
        raise Problem("STR107", "as_strided of a tensor that does not fill its storage", where=b.origin,
                      help="index the tensor instead, or compile with partial=True")  # fmt: skip
    return order


def _strided_places(b: Builder, size: Sequence[int], stride: Sequence[int], offset: int | None) -> Node:
    place = b.full(offset or 0, "i64", (1,) * len(size))
    for dim, (extent, step) in enumerate(zip(size, stride)):
        place = b.add(place, b.reshape(b.arange(extent, 0, step), (extent, *(1 for _ in size[dim + 1 :]))))
    return b.expand(place, size)


# putting together


@aten("cat", "concat", "concatenate", "_cat")
def cat(b: Builder, parts: Sequence[Node], dim: int = 0) -> Node:
    """Empty 1-d tensors may stand among tensors of any rank and count for nothing."""
    rank = len(b.call.shape)
    whole = [b.cast(p, b.call.dtype) for p in parts if p.type.rank == rank]
    filled = [p for p in whole if p.shape[wrap(dim, rank)]]
    return b.cat(filled or whole[:1], wrap(dim, rank))


@aten("stack")
def stack(b: Builder, parts: Sequence[Node], dim: int = 0) -> Node:
    dim = wrap(dim, len(b.call.shape))
    return b.cat([b.unsqueeze(b.cast(p, b.call.dtype), dim) for p in parts], dim)


@aten("slice_scatter")
def slice_scatter(
    b: Builder, x: Node, src: Node, dim: int = 0, start: int | None = None, stop: int | None = None, step: int = 1
) -> Node:
    dim = wrap(dim, x.type.rank)
    first, last, _ = slice(start, stop, step).indices(x.shape[dim])
    src = b.cast(src, x.dtype)
    if step != 1:
        return _written(b, x, src, dim, b.arange(len(range(first, last, step)), first, step))
    parts = [b.slice(x, dim, 0, first), src, b.slice(x, dim, max(first, last), x.shape[dim])]
    return b.cat([p for p in parts if p.shape[dim]] or [x], dim)


@aten("select_scatter")
def select_scatter(b: Builder, x: Node, src: Node, dim: int, index: int) -> Node:
    dim = wrap(dim, x.type.rank)
    index = index + x.shape[dim] if index < 0 else index
    return slice_scatter(b, x, b.unsqueeze(src, dim), dim, index, index + 1)


@aten("diagonal_scatter")
def diagonal_scatter(b: Builder, x: Node, src: Node, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Node:
    """With the two dimensions last, a pair of indices walks down the diagonal."""
    dims = wrap(dim1, x.type.rank), wrap(dim2, x.type.rank)
    order = (*(d for d in range(x.type.rank) if d not in dims), *dims)
    moved = b.permute(x, order)
    rank, extent = moved.type.rank, src.shape[-1]
    rows, columns = b.arange(extent, max(-offset, 0)), b.arange(extent, max(offset, 0))
    inputs = (moved, b.cast(src, x.dtype), rows, columns)
    put = b.node("index_put", inputs, moved.type, dims=(rank - 2, rank - 1), accumulate=False)
    return b.permute(put, [order.index(d) for d in range(rank)])


def _written(b: Builder, x: Node, value: Node, dim: int, index: Node) -> Node:
    return b.node("index_put", (x, value, index), x.type, dims=(dim,), accumulate=False)


@aten("roll")
def roll(b: Builder, x: Node, shifts: Sequence[int], dims: Sequence[int] = ()) -> Node:
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    flat = not dims
    y = b.reshape(x, (x.type.size,)) if flat else x
    for shift, dim in zip(shifts, [0] if flat else dims):
        dim = wrap(dim, y.type.rank)
        extent = y.shape[dim]
        cut = (extent - shift % extent) % extent if extent else 0
        if cut:
            y = b.cat([b.slice(y, dim, cut, extent), b.slice(y, dim, 0, cut)], dim)
    return b.reshape(y, x.shape)


@aten("pixel_shuffle")
def pixel_shuffle(b: Builder, x: Node, factor: int) -> Node:
    *batch, channels, height, width = x.shape
    n = len(batch)
    apart = b.reshape(x, (*batch, channels // factor**2, factor, factor, height, width))
    dims = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return b.reshape(b.permute(apart, dims), b.call.shape)


@aten("pixel_unshuffle")
def pixel_unshuffle(b: Builder, x: Node, factor: int) -> Node:
    *batch, channels, height, width = x.shape
    n = len(batch)
    apart = b.reshape(x, (*batch, channels, height // factor, factor, width // factor, factor))
    dims = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return b.reshape(b.permute(apart, dims), b.call.shape)


@aten("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(b: Builder, x: Node, groups: int) -> Node:
    batch, channels, *space = x.shape
    apart = b.reshape(x, (batch, groups, channels // groups, prod(space)))
    return b.reshape(b.permute(apart, (0, 2, 1, 3)), x.shape)


# padding


@aten("constant_pad_nd")
def constant_pad(b: Builder, x: Node, pad: Sequence[int], value: float = 0) -> Node:
    return b.pad(x, _pads(x, pad), "constant", value)


@aten("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(b: Builder, x: Node, pad: Sequence[int]) -> Node:
    return b.pad(x, _pads(x, pad), "reflect")


@aten("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(b: Builder, x: Node, pad: Sequence[int]) -> Node:
    return b.pad(x, _pads(x, pad), "replicate")


@aten("_pad_circular")
def circular_pad(b: Builder, x: Node, pad: Sequence[int]) -> Node:
    return b.pad(x, _pads(x, pad), "circular")


@aten("pad")
def pad(b: Builder, x: Node, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Node:
    return b.pad(x, _pads(x, pad), mode, value or 0)


def _pads(x: Node, pad: Sequence[int]) -> list[tuple[int, int]]:
    """Torch lists pairs from the last dimension; ours go from the first."""
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (x.type.rank - len(pairs)) + pairs[::-1]
