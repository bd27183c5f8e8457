"""Reading and writing at places that data says."""

from __future__ import annotations

from collections.abc import Sequence

from strop.frontend.torch.aten.views import wrap
from strop.frontend.torch.builder import Builder, broadcast
from strop.frontend.torch.registry import Operand, Unfit, Whole, aten
from strop.graph.ir import Node, Type

Indices = Sequence[Node | None]


@aten("index.Tensor", "_unsafe_index.Tensor")
def index(b: Builder, x: Node, indices: Indices) -> Node:
    if any(i is not None and i.dtype == "bool" for i in indices):
        raise Unfit("a boolean mask selects a number of elements that depends on data")
    x, _, dims, chosen = _adjacent(b, x, indices)
    if not dims:
        return x
    shape = broadcast(*(i.shape for i in chosen))
    result = (*x.shape[: dims[0]], *shape, *x.shape[dims[-1] + 1 :])
    return b.node("index", (x, *chosen), Type(x.dtype, result), dims=dims)


def _adjacent(b: Builder, x: Node, indices: Indices) -> tuple[Node, tuple[int, ...], tuple[int, ...], list[Node]]:
    """Bring the indexed dimensions side by side: in place if they are, else to the front, as torch defines it.

    Returns the permuted tensor, the permutation, the dimensions and the indices as i64.
    """
    dims = tuple(d for d, i in enumerate(indices) if i is not None)
    chosen = [b.cast(i, "i64") for i in indices if i is not None]
    order = tuple(range(x.type.rank))
    if dims and dims != tuple(range(dims[0], dims[-1] + 1)):
        order = (*dims, *(d for d in order if d not in dims))
        dims = tuple(range(len(dims)))
    return b.permute(x, order), order, dims, chosen


@aten("index_put", "_unsafe_index_put", "_index_put_impl")
def index_put(
    b: Builder, x: Node, indices: Indices, value: Node, accumulate: bool = False, unsafe: bool = False
) -> Node:
    masks = [i for i in indices if i is not None]
    if any(i.dtype == "bool" for i in masks):
        return _masked_put(b, x, indices, value, accumulate)
    moved, order, dims, chosen = _adjacent(b, x, indices)
    if not dims:
        raise Unfit("index_put without indices")
    if value.dtype != x.dtype:
        raise Whole(f"index_put of {value.dtype} into {x.dtype}")
    shape = broadcast(*(i.shape for i in chosen))
    region = (*moved.shape[: dims[0]], *shape, *moved.shape[dims[-1] + 1 :])
    value = b.expand(value, region)
    put = b.node("index_put", (moved, value, *chosen), moved.type, dims=dims, accumulate=bool(accumulate))
    return b.permute(put, [order.index(d) for d in range(len(order))])


def _masked_put(b: Builder, x: Node, indices: Indices, value: Node, accumulate: bool) -> Node:
    """x[mask] = number, the one form whose shape does not depend on data."""
    if accumulate or value.type.size != 1 or sum(i is not None for i in indices) != 1:
        raise Unfit("a boolean mask with values per selected element")
    before = next(d for d, i in enumerate(indices) if i is not None)
    mask = indices[before]
    assert mask is not None
    after = x.type.rank - before - mask.type.rank
    mask = b.reshape(mask, (*mask.shape, *(1 for _ in range(after))))
    return b.where(mask, b.cast(b.reshape(value, ()), x.dtype), x)


@aten("gather")
def gather(b: Builder, x: Node, dim: int, index: Node, sparse_grad: bool = False) -> Node:
    if not x.type.rank or not index.type.rank:
        row = gather(b, b.reshape(x, (x.type.size,)), 0, b.reshape(index, (index.type.size,)))
        return b.reshape(row, index.shape)
    return b.node("gather", (x, b.cast(index, "i64")), Type(x.dtype, index.shape), dim=wrap(dim, x.type.rank))


@aten("index_select")
def index_select(b: Builder, x: Node, dim: int, index: Node) -> Node:
    if not x.type.rank:
        return x if index.type.size == 1 else b.expand(x, b.call.shape)
    order = list(range(x.type.rank))
    order.insert(0, order.pop(wrap(dim, x.type.rank)))
    rows = embedding(b, b.permute(x, order), b.reshape(index, (index.type.size,)))
    return b.permute(rows, sorted(order, key=order.__getitem__))


@aten("take")
def take(b: Builder, x: Node, index: Node) -> Node:
    return b.node("index", (b.reshape(x, (x.type.size,)), index), b.call.types[0], dims=(0,))


@aten("embedding")
def embedding(
    b: Builder, weight: Node, index: Node, padding: int = -1, scale_grad: bool = False, sparse: bool = False
) -> Node:
    index = b.cast(index, "i64")
    return b.node("embedding", (weight, index), Type(weight.dtype, (*index.shape, *weight.shape[1:])))


@aten("scatter.src")
def scatter(b: Builder, x: Node, dim: int, index: Node, src: Node) -> Node:
    return _scattered(b, x, dim, index, src, None)


@aten("scatter.value")
def scatter_value(b: Builder, x: Node, dim: int, index: Node, value: Operand) -> Node:
    return _scattered(b, x, dim, index, b.full(value, x.dtype, index.shape), None)


@aten("scatter.reduce")
def scatter_with(b: Builder, x: Node, dim: int, index: Node, src: Node, reduce: str) -> Node:
    return _scattered(b, x, dim, index, src, {"add": "add", "multiply": "mul"}[reduce])


@aten("scatter.value_reduce")
def scatter_value_with(b: Builder, x: Node, dim: int, index: Node, value: Operand, reduce: str) -> Node:
    return scatter_with(b, x, dim, index, b.full(value, x.dtype, index.shape), reduce)


@aten("scatter_add")
def scatter_add(b: Builder, x: Node, dim: int, index: Node, src: Node) -> Node:
    return _scattered(b, x, dim, index, src, "add")


@aten("scatter_reduce.two")
def scatter_reduce(
    b: Builder, x: Node, dim: int, index: Node, src: Node, reduce: str, include_self: bool = True
) -> Node:
    if not include_self or reduce == "mean":
        raise Unfit(f"scatter_reduce of `{reduce}` with include_self={include_self}")
    return _scattered(b, x, dim, index, src, {"sum": "add", "prod": "mul"}.get(reduce, reduce))


def _scattered(b: Builder, x: Node, dim: int, index: Node, src: Node, reduce: str | None) -> Node:
    if not x.type.rank or not index.type.rank:
        rows = [b.reshape(n, (n.type.size,)) for n in (x, index, src)]
        return b.reshape(_scattered(b, rows[0], 0, rows[1], rows[2], reduce), x.shape)
    if reduce and x.dtype == "bool":
        raise Unfit("scatter with a reduction of booleans")
    for d, extent in enumerate(index.shape):
        src = b.slice(src, d, 0, extent)
    inputs = (x, b.cast(index, "i64"), b.cast(src, x.dtype))
    return b.node("scatter", inputs, x.type, dim=wrap(dim, x.type.rank), reduce=reduce)


@aten("index_add")
def index_add(b: Builder, x: Node, dim: int, index: Node, src: Node, alpha: float = 1) -> Node:
    src = b.cast(src, x.dtype) if alpha == 1 else b.mul(b.cast(src, x.dtype), alpha)
    if x.dtype == "bool":
        raise Unfit("index_add of booleans")
    return _rows_put(b, x, dim, index, src, True)


@aten("index_copy")
def index_copy(b: Builder, x: Node, dim: int, index: Node, src: Node) -> Node:
    return _rows_put(b, x, dim, index, src, False)


@aten("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(b: Builder, x: Node, dim: int, index: Node, value: Operand) -> Node:
    if not x.type.rank:
        return b.operand(value, x.dtype)
    dim = wrap(dim, x.type.rank)
    region = (*x.shape[:dim], index.type.size, *x.shape[dim + 1 :])
    return _rows_put(b, x, dim, index, b.expand(b.operand(value, x.dtype), region), False)


def _rows_put(b: Builder, x: Node, dim: int, index: Node, src: Node, accumulate: bool) -> Node:
    index = b.cast(b.reshape(index, (index.type.size,)), "i64")
    if not x.type.rank:
        put = _rows_put(b, b.reshape(x, (1,)), 0, index, b.reshape(src, (index.type.size,)), accumulate)
        return b.reshape(put, ())
    dim = wrap(dim, x.type.rank)
    return b.node("index_put", (x, src, index), x.type, dims=(dim,), accumulate=accumulate)


@aten("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(
    b: Builder,
    weight: Node,
    index: Node,
    offsets: Node,
    scale_grad: bool = False,
    mode: int = 0,
    sparse: bool = False,
    sample_weights: Node | None = None,
    include_last: bool = False,
    padding: int = -1,
) -> tuple[Node, ...]:
    """Bags of one size (what 2-d indices become) are an embedding and a reduction."""
    regular = offsets.op == "arange" and offsets.attrs["start"] == 0 and not include_last and padding < 0
    step = int(offsets.attrs["step"]) if regular else 0
    if not step or step * offsets.type.size != index.type.size or b.call.used - {0}:
        raise Unfit("embedding bags of different sizes")
    bags = offsets.type.size
    rows = embedding(b, weight, b.reshape(index, (bags, step)))
    if sample_weights is not None:
        rows = b.mul(rows, b.reshape(sample_weights, (bags, step, 1)))
    out = b.reduce(("sum", "mean", "amax")[mode], rows, (1,))
    unused = b.full(0, "i64", (0,))
    return out, unused, unused, unused
