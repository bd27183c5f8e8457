"""Reductions: one accumulator per output point, and running sums in order.

    parallel i0 in 8:
      scratch acc: f32[]
      acc[] = 0
      reduce k1 in 100:
        acc[] += x[i0, k1]
      out[i0] = acc[]

Where a whole tensor is reduced there is no outer loop; where nothing is reduced, no inner one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from strop.core.dtypes import is_float
from strop.core.extents import Extent, bounds
from strop.graph.ir import Node
from strop.loops.index import Index, Var, flatten, index_of
from strop.loops.ir import Apply, Buffer, Const, Expr, Load, Loop, Nest, Number, Store, neutral
from strop.loops.lower import Context, as_index, extent_value, lowering, store
from strop.loops.lower.pointwise import apply, cast

#: sums of more elements are made in two steps
LONGEST_SUM = 4096
#: so are sums over several dimensions of tensors with more elements, which threads share
SHARED_SUM = 1 << 14
#: operator → how a store combines
FOLDS = {"sum": "sum", "mean": "sum", "prod": "prod", "amax": "max", "amin": "min", "any": "any", "all": "all"}


def at(buffer: Buffer, *index: Loop | Var | Index | int) -> Load:
    """One element of a buffer, as a value."""
    return Load(buffer, tuple(map(as_index, index)))


def fold(acc: Buffer, loops: Sequence[Loop], value: Expr, reduce: str) -> tuple[Store | Nest, ...]:
    """acc[] = neutral; acc[] reduce= value over all loops. An empty range leaves the neutral value."""
    if acc.dtype == "bool":
        reduce = {"max": "any", "min": "all"}.get(reduce, reduce)
    start = store(acc, (), Const(neutral(reduce, acc.dtype), acc.dtype))
    if any(loop.extent == 0 for loop in loops):
        return (start,)
    step = store(acc, (), value, reduce)
    return (start, Nest(tuple(loops), (step,)) if loops else step)


def row_loops(prefix: str, shape: Sequence[Extent], dims: Sequence[int], kind: str = "reduce") -> dict[int, Loop]:
    """A loop per dimension of `dims`, named after the dimension."""
    return {dim: Loop(Var(f"{prefix}{dim}", shape[dim]), kind) for dim in dims}


def point(rank: int, *loops: dict[int, Loop]) -> list[Loop]:
    """The full index of an element whose dimensions several groups of loops walk."""
    found = {dim: loop for group in loops for dim, loop in group.items()}
    return [found[dim] for dim in range(rank)]


class Axes:
    """How a reduction divides the dimensions of its input: `kept` loops outside, reduced ones inside."""

    def __init__(self, node: Node, dims: Sequence[int] | None, keepdim: bool) -> None:
        self.shape = node.inputs[0].shape
        rank = len(self.shape)
        self.dims = tuple(range(rank)) if dims is None else tuple(sorted({dim % rank for dim in dims if rank}))
        self.kept = row_loops("i", self.shape, [dim for dim in range(rank) if dim not in self.dims], "parallel")
        self.count = prod(self.shape[dim] for dim in self.dims)
        kept: dict[int, Loop | int] = dict(self.kept.items())
        self.target: list[Loop | int] = [kept.get(dim, 0) for dim in range(rank)] if keepdim else list(kept.values())

    @property
    def outer(self) -> tuple[Loop, ...]:
        return tuple(self.kept.values())

    def inner(self, prefix: str) -> dict[int, Loop]:
        return row_loops(prefix, self.shape, self.dims)

    def read(self, c: Context, inner: dict[int, Loop]) -> Expr:
        return c.read(0, *point(len(self.shape), self.kept, inner))


@lowering(*FOLDS)
def reduction(c: Context) -> list[Nest]:
    axes = Axes(c.node, c.node.attrs["dims"], c.node.attrs["keepdim"])
    acc = c.scratch("acc", c.dtype)
    inner = axes.inner("k")
    value = cast(axes.read(c, inner), c.dtype)
    before: list[Nest] = []
    long = [dim for dim, loop in inner.items() if loop.extent != 1]
    if FOLDS[c.node.op] == "sum" and is_float(c.dtype) and (first := _first_step(axes, long)):
        parts, value = _in_parts(c, axes, inner, value, first)
        before.append(parts)
        inner = {dim: loop for dim, loop in inner.items() if dim not in first}
    body = fold(acc, tuple(inner.values()), value, FOLDS[c.node.op])
    result: Expr = at(acc)
    if c.node.op == "mean":
        result = apply("div", result, extent_value(axes.count, c.dtype))
    return [*before, c.nest(axes.outer, *body, store(c.out, axes.target, result), scratch=[acc])]


def _first_step(axes: Axes, long: Sequence[int]) -> Sequence[int]:
    """The dimensions that a sum adds up first, where it is made in two steps.

    The last one where there are many terms: rounding errors grow with the longest chain of additions, and a whole image
    in one chain has cost two digits. Otherwise all but the first one, the batch: threads then share a sum as they share
    what is computed from it and before it, so that each finds its images in its own caches. Neither depends on the
    number of threads, and so the sum does not.
    """
    if len(long) < 2:
        return ()
    terms, results = bounds(axes.count)[1], bounds(prod(loop.extent for loop in axes.outer))[1]
    if terms > LONGEST_SUM:
        return long[-1:]
    return long[1:] if terms * results >= SHARED_SUM else ()


def _in_parts(c: Context, axes: Axes, inner: dict[int, Loop], value: Expr, first: Sequence[int]) -> tuple[Nest, Expr]:
    """The sums over the dimensions `first`, and what the sum of everything adds up of them."""
    walked = {dim: Loop(Var(f"r{dim}", loop.extent)) for dim, loop in inner.items() if dim not in first}
    made = {inner[dim].var: index_of(loop.var) for dim, loop in walked.items()}
    loops = (*walked.values(), *axes.outer)
    sums = c.temporary("rows", c.dtype, [loop.extent for loop in loops])
    acc = c.scratch("acc", c.dtype)
    body = fold(acc, [inner[dim] for dim in inner if dim in first], value.substitute(made), "sum")
    parts = c.nest(loops, *body, store(sums, loops, at(acc)), scratch=[acc], suffix="rows")
    return parts, at(sums, *(loop for dim, loop in inner.items() if dim not in first), *axes.outer)


@lowering("argmax", "argmin")
def position(c: Context) -> list[Nest]:
    """The extreme value first, then the smallest position that holds it.

    A NaN is the extreme where there is one, and is the only value that differs from itself: so both passes reduce in
    any order and still find the first.
    """
    dim = c.node.attrs["dim"]
    axes = Axes(c.node, None if dim is None else (dim,), c.node.attrs["keepdim"])
    dtype = c.node.inputs[0].dtype
    best, first = c.scratch("best", dtype), c.scratch("first", "i64")
    inner, again = axes.inner("k"), axes.inner("j")
    extreme = fold(best, tuple(inner.values()), axes.read(c, inner), "max" if c.node.op == "argmax" else "min")
    x = axes.read(c, again)
    hit = apply("eq", x, at(best))
    if dtype in ("f32", "f64"):
        hit = apply("or", hit, apply("ne", x, x))
    here = Number(flatten(tuple(map(as_index, again.values())), tuple(axes.shape[d] for d in axes.dims)), "i64")
    nowhere = Const(neutral("min", "i64"), "i64")
    search = fold(first, tuple(again.values()), Apply("where", (hit, here, nowhere), "i64"), "min")
    return [c.nest(axes.outer, *extreme, *search, store(c.out, axes.target, at(first)), scratch=[best, first])]


@lowering("var")
def variance(c: Context) -> list[Nest]:
    """Two passes: subtracting the mean first keeps the digits that Σx² - (Σx)²/n loses."""
    axes = Axes(c.node, c.node.attrs["dims"], c.node.attrs["keepdim"])
    total, mean, spread = (c.scratch(name, c.dtype) for name in ("total", "mean", "spread"))
    inner, again = axes.inner("k"), axes.inner("j")
    first = fold(total, tuple(inner.values()), axes.read(c, inner), "sum")
    distance = apply("sub", axes.read(c, again), at(mean))
    second = fold(spread, tuple(again.values()), apply("mul", distance, distance), "sum")
    divisor = max(axes.count - c.node.attrs["correction"], 0)
    return [
        c.nest(
            axes.outer,
            *first,
            store(mean, (), apply("div", at(total), extent_value(axes.count, c.dtype))),
            *second,
            store(c.out, axes.target, apply("div", at(spread), extent_value(divisor, c.dtype))),
            scratch=[total, mean, spread],
        )
    ]


@lowering("cumsum", "cumprod")
def running(c: Context) -> list[Nest]:
    """A sequential loop that carries the total; floats are carried in f64, as eager does."""
    rank = len(c.node.shape)
    dims = (c.node.attrs["dim"] % rank,) if rank else ()
    rows = row_loops("i", c.node.shape, [dim for dim in range(rank) if dim not in dims], "parallel")
    along = row_loops("k", c.node.shape, dims, "sequential")
    carried = "f64" if c.dtype == "f32" else c.dtype
    acc = c.scratch("acc", carried)
    reduce = "sum" if c.node.op == "cumsum" else "prod"
    here = point(rank, rows, along)
    step = Nest(
        tuple(along.values()),
        (
            store(acc, (), cast(cast(c.read(0, *here), c.dtype), carried), reduce),
            store(c.out, here, cast(at(acc), c.dtype)),
        ),
    )
    start = store(acc, (), Const(neutral(reduce, carried), carried))
    return [c.nest(tuple(rows.values()), start, step, scratch=[acc])]
