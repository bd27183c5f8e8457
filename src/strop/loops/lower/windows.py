"""Windows over space: pooling. Leading dimensions (batch, channels) are left alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

from strop.core.extents import Extent, SymbolicExtent
from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node
from strop.loops.index import Index, flatten
from strop.loops.ir import Const, Expr, Guard, Loop, Nest, Number, neutral
from strop.loops.lower import Context, as_index, extent_value, lowering, store, zero
from strop.loops.lower.concat_pad import guarded
from strop.loops.lower.contractions import SPACE, inside, parallel, reducing, value_of
from strop.loops.lower.pointwise import apply, cast


def _space(node: Node) -> int:
    """How many trailing dimensions are space: as many as attributes describe, else all after batch and channels."""
    for name in ("kernel", "scales"):
        if name in node.attrs:
            return len(node.attrs[name])
    return len(node.shape) - 2


def checked(node: Node) -> Verdict:
    if len(node.types) != 1:
        return no(f"`{node.op}` returns positions too; only values are lowered")
    if _space(node) not in SPACE:
        return no(f"`{node.op}` over {_space(node)} space dimensions; 1, 2 or 3 are known")
    return yes()


def checked_float(node: Node) -> Verdict:
    if node.types[0].dtype not in ("f32", "f64"):
        return no(f"`{node.op}` computes with f32 and f64, not {node.types[0].dtype}")
    return checked(node)


# ---- pooling ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PoolingWindow:
    """One space dimension of a pooling: the loop over the window, what it reads, and how many elements count."""

    tap: Loop
    place: Index
    guards: tuple[Guard, ...]
    count: Expr | Extent


def outer_loops(c: Context) -> tuple[tuple[Loop, ...], tuple[Loop, ...]]:
    """Loops over leading dimensions and over output points."""
    space = _space(c.node)
    lead, extents = c.node.shape[:-space], c.node.shape[-space:]
    names = ("n", "c") if len(lead) == 2 else tuple(f"b{i}" for i in range(len(lead)))
    batch = tuple(parallel(name, extent) for name, extent in zip(names, lead))
    return batch, tuple(parallel(f"o{axis}", extent) for axis, extent in zip(SPACE[space], extents))


def _pool(
    c: Context, kind: str, windows: Sequence[PoolingWindow], batch: Sequence[Loop], points: Sequence[Loop]
) -> list[Nest]:
    acc = c.scratch("acc", c.dtype)
    start = neutral("max" if kind == "max" else "sum", c.dtype)
    guards = tuple(guard for window in windows for guard in window.guards)
    value = guarded(c.read(0, *batch, *(w.place for w in windows)), guards, start)
    inner = Nest(tuple(w.tap for w in windows), (store(acc, (), value, "max" if kind == "max" else "sum"),))
    result = value_of(acc)
    if kind == "mean":
        result = apply("div", result, _count(c, [w.count for w in windows]))
    loops = (*batch, *points)
    return [c.nest(loops, store(acc, (), Const(start, c.dtype)), inner, store(c.out, loops, result), scratch=(acc,))]


def _count(c: Context, counts: Sequence[Expr | Extent]) -> Expr:
    given = c.node.attrs.get("divisor")
    if given:
        return Const(float(given), c.dtype)
    fixed = prod(count for count in counts if isinstance(count, int | SymbolicExtent))
    varying: list[Expr] = [count for count in counts if not isinstance(count, int | SymbolicExtent)]
    if not varying:
        return extent_value(fixed, c.dtype)
    if fixed != 1:
        varying.append(extent_value(fixed, "i64"))
    return cast(reduce(lambda a, b: apply("mul", a, b), varying), c.dtype)


def _windows(c: Context, points: Sequence[Loop], dilation: Sequence[int]) -> list[PoolingWindow]:
    """Windows of a fixed size and step, with padding around the input."""
    attrs = c.node.attrs
    extents = c.node.inputs[0].shape[-len(points) :]
    found = []
    for axis, point, extent, size, stride, (before, after), spread in zip(
        SPACE[len(points)], points, extents, attrs["kernel"], attrs["stride"], attrs["padding"], dilation
    ):
        tap = reducing(f"k{axis}", size)
        first = as_index(point) * stride - before
        place = first + as_index(tap) * spread
        include = attrs.get("count_include_pad", False)
        low, high = (-before, extent + after) if include else (0, extent)
        found.append(PoolingWindow(tap, place, inside((place, extent)), _overlap(first, size, low, high)))
    return found


def _overlap(first: Index, size: int, low: Extent, high: Extent) -> Expr | Extent:
    """How many of the `size` places from `first` on lie in low … high-1."""
    smallest, largest = first.bounds
    if smallest >= low and largest + size <= high:
        return size
    begin = apply("maximum", Number(first, "i64"), extent_value(low, "i64"))
    end = apply("minimum", Number(first + size, "i64"), extent_value(high, "i64"))
    return apply("sub", end, begin)


@lowering("max_pool", check=checked)
def max_pool(c: Context) -> list[Nest]:
    batch, points = outer_loops(c)
    return _pool(c, "max", _windows(c, points, c.node.attrs["dilation"]), batch, points)


def _counted(node: Node) -> Verdict:
    """Positions are counted in 32 bits, of which vectors hold as many as of elements."""
    if node.types[0].dtype == "i64" and prod(node.inputs[0].shape[-_space(node) :]) >= 1 << 31:
        return no("a channel has 2³¹ elements or more")
    return checked(node)


@lowering("max_pool_indices", check=_counted)
def max_pool_indices(c: Context) -> list[Nest]:
    """The least position that holds the maximum, or NaN. Padding holds -∞ and is no position."""
    batch, points = outer_loops(c)
    extents = c.node.inputs[0].shape[-len(points) :]
    windows = _windows(c, points, c.node.attrs["dilation"])
    places = [window.place for window in windows]
    dtype = c.node.inputs[0].dtype
    first = c.scratch("first", "i32")
    x = guarded(c.read(0, *batch, *places), tuple(g for w in windows for g in w.guards), neutral("max", dtype))
    hit = apply("or", apply("eq", x, c.read(1, *batch, *points)), apply("ne", x, x))
    for guard in (guard for window in windows for guard in window.guards):
        hit = apply("and", hit, apply("ge", Number(guard.index, "i32"), Const(0, "i32")))
        hit = apply("and", hit, apply("lt", Number(guard.index, "i32"), extent_value(guard.extent, "i32")))
    nowhere = Const(neutral("min", "i32"), "i32")
    position = apply("where", hit, Number(flatten(tuple(places), extents), "i32"), nowhere)
    search = Nest(tuple(w.tap for w in windows), (store(first, (), position, "min"),))
    result = store(c.out, (*batch, *points), cast(value_of(first), "i64"))
    return [c.nest((*batch, *points), store(first, (), nowhere), search, result, scratch=(first,))]


@lowering("max_pool_backward", check=checked_float)
def max_pool_backward(c: Context) -> list[Nest]:
    """As a gather: each element sums up over the windows that it may be the maximum of, ⌊dilation·(k-1)/stride⌋ + 1 per
    dimension. Where that is one, there is nothing to sum up."""
    attrs = c.node.attrs
    batch, points = outer_loops(c)
    windows: list[Loop] = []
    places: list[Index] = []
    for axis, point, size, stride, (before, _), spread in zip(
        SPACE[len(points)], points, attrs["kernel"], attrs["stride"], attrs["padding"], attrs["dilation"]
    ):
        windows.append(reducing(f"k{axis}", spread * (size - 1) // stride + 1))
        last = (as_index(point) + before) // stride
        places.append(last - as_index(windows[-1]) if windows[-1].extent > 1 else last)
    guards = inside(*zip(places, c.node.inputs[0].shape[-len(points) :]))
    here = Number(flatten(tuple(map(as_index, points)), c.node.shape[-len(points) :]), "i64")
    chosen = apply("eq", guarded(c.read(1, *batch, *places), guards, -1), here)
    dy = guarded(c.read(0, *batch, *places), guards, 0)
    value = apply("where", chosen, dy, zero(c.dtype))
    loops = (*batch, *points)
    if all(window.extent == 1 for window in windows):
        return [c.nest(loops, store(c.out, loops, value))]
    acc = c.scratch("acc", c.dtype)
    total = Nest(tuple(windows), (store(acc, (), value, "sum"),))
    return [c.nest(loops, store(acc, (), zero(c.dtype)), total, store(c.out, loops, value_of(acc)), scratch=(acc,))]


@lowering("avg_pool", check=checked_float)
def avg_pool(c: Context) -> list[Nest]:
    batch, points = outer_loops(c)
    return _pool(c, "mean", _windows(c, points, (1,) * len(points)), batch, points)


def _adaptive(c: Context, points: Sequence[Loop]) -> list[PoolingWindow]:
    """Window o covers ⌊o·I/O⌋ … ⌈(o+1)·I/O⌉-1. Where O divides I they are equal and plain; else the largest size is
    visited and what lies behind a window's end is left out."""
    found = []
    for axis, point, extent in zip(SPACE[len(points)], points, c.node.inputs[0].shape[-len(points) :]):
        out, o = point.extent, as_index(point)
        if extent % out == 0:
            tap = reducing(f"k{axis}", extent // out)
            found.append(PoolingWindow(tap, o * tap.extent + as_index(tap), (), tap.extent))
            continue
        largest = max(-(-(i + 1) * extent // out) - i * extent // out for i in range(out))
        tap = reducing(f"k{axis}", largest)
        first = o * extent // out
        end = (o * extent + extent + out - 1) // out
        place = first + as_index(tap)
        found.append(PoolingWindow(tap, place, inside((end - 1 - place, largest)), Number(end - first, "i64")))
    return found


@lowering("adaptive_avg_pool", check=checked_float)
def adaptive_avg_pool(c: Context) -> list[Nest]:
    batch, points = outer_loops(c)
    return _pool(c, "mean", _adaptive(c, points), batch, points)


@lowering("adaptive_max_pool", check=checked)
def adaptive_max_pool(c: Context) -> list[Nest]:
    batch, points = outer_loops(c)
    return _pool(c, "max", _adaptive(c, points), batch, points)
