"""Putting tensors together: concatenation, padding, and reads that may fall outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import product

from strop.core.extents import Extent
from strop.loops.index import Index, Var
from strop.loops.ir import Apply, Const, Expr, Guard, Load, Loop, Nest, Number
from strop.loops.lower import Context, as_index, extent_value, lowering, store
from strop.loops.lower.pointwise import apply
from strop.loops.rewriting import replace_loads


def guarded(expr: Expr, guards: Sequence[Guard], other: float | int | bool) -> Expr:
    """`expr` where every guard holds, else `other`; where one fails, none of its loads happens."""
    needed = tuple(guard for guard in guards if not guard.always)
    if not needed:
        return expr
    if isinstance(expr, Load) and not expr.guards:
        index = tuple(_protect(i, needed) for i in expr.index)
        return replace(expr, index=index, guards=needed, other=other)
    # NaN differs from itself; a constant that already is `other` needs no choice
    if isinstance(expr, Const) and (expr.value == other or (expr.value != expr.value and other != other)):
        return expr
    inside = reduce(lambda a, b: apply("and", a, b), (_holds(guard) for guard in needed))
    return Apply("where", (inside, _protected(expr, needed), literal(other, expr.dtype)), expr.dtype)


def _protected(expr: Expr, guards: tuple[Guard, ...]) -> Expr:
    """The loads of an expression guarded; what they give outside is not used, so 0 (a valid index too)."""

    def add(load: Load) -> Expr:
        extra = tuple(guard for guard in guards if guard not in load.guards)
        other = load.other if load.guards else literal(0, load.dtype).value
        return replace(load, guards=(*load.guards, *extra), other=other)

    return replace_loads(expr, add)


def _protect(index: Index, guards: tuple[Guard, ...]) -> Index:
    """A data-dependent index whose own loads happen only where the guards hold."""
    protected = _protected(Number(index, "i64"), guards)
    assert isinstance(protected, Number)
    return protected.index


def _holds(guard: Guard) -> Expr:
    low, high = guard.index.bounds
    value = Number(guard.index, "i64")
    above = apply("ge", value, Const(0, "i64"))
    below = apply("lt", value, extent_value(guard.extent, "i64"))
    if low >= 0:
        return below
    return above if high < guard.extent else apply("and", above, below)


def literal(value: float | int | bool, dtype: str) -> Const:
    if dtype in ("f32", "f64"):
        return Const(float(value), dtype)
    return Const(bool(value) if dtype == "bool" else int(value), dtype)


@lowering("cat")
def cat(c: Context) -> list[Nest]:
    """One nest per input, writing its slice."""
    dim = c.node.attrs["dim"] % len(c.node.shape)
    nests: list[Nest] = []
    offset: Extent = 0
    for which, part in enumerate(c.node.inputs):
        if part.type.size != 0:
            loops = c.loops("i", part.shape)
            target = [as_index(loop) + offset * (d == dim) for d, loop in enumerate(loops)]
            nests.append(c.nest(loops, store(c.out, target, c.read(which, *loops)), suffix=str(which)))
        # eager lets a 1-d empty tensor join anything, and it takes no room
        offset += part.shape[dim] if len(part.shape) == len(c.node.shape) else 0
    return nests


@lowering("pad")
def pad(c: Context) -> list[Nest]:
    if c.node.attrs["mode"] == "constant":
        return [_pad_constant(c)]
    return _pad_regions(c)


def _pad_constant(c: Context) -> Nest:
    shape = c.node.inputs[0].shape
    value = literal(c.node.attrs.get("value") or 0, c.dtype)
    loops = c.loops("i", c.node.shape)
    if 0 in shape:
        return c.nest(loops, store(c.out, loops, value))
    index = [as_index(loop) - before for loop, (before, _) in zip(loops, c.node.attrs["pads"])]
    guards = [Guard(i, extent) for i, extent in zip(index, shape)]
    return c.nest(loops, store(c.out, loops, guarded(c.read(0, *index), guards, value.value)))


def _pad_regions(c: Context) -> list[Nest]:
    """Per dimension the border before, the middle and the border after; one nest per combination.

    In each the source moves by a fixed step, so that no element's place has to be computed from data.
    """
    shape, pads, mode = c.node.inputs[0].shape, c.node.attrs["pads"], c.node.attrs["mode"]
    pieces = [_pieces(extent, before, after, mode) for extent, (before, after) in zip(shape, pads)]
    nests = []
    for number, region in enumerate(product(*pieces)):
        loops = [Loop(Var(f"i{dim}", piece[1])) for dim, piece in enumerate(region)]
        target = [as_index(loop) + first for loop, (first, *_) in zip(loops, region)]
        source = [as_index(loop) * step + start for loop, (_, _, start, step) in zip(loops, region)]
        nests.append(c.nest(loops, store(c.out, target, c.read(0, *source)), suffix=str(number)))
    return nests


def _pieces(extent: int, before: int, after: int, mode: str) -> list[tuple[int, int, int, int]]:
    """(first element of the result, how many, first element of the source, its step) for each part of a dimension."""
    first, last = max(-before, 0), extent - max(-after, 0)
    left, right = max(before, 0), max(after, 0)
    borders = {
        "reflect": ((before, -1), (extent - 2, -1)),
        "replicate": ((0, 0), (extent - 1, 0)),
        "circular": ((last - before, 1), (first, 1)),
    }
    (left_start, left_step), (right_start, right_step) = borders[mode]
    pieces = [
        (0, left, left_start, left_step),
        (left, last - first, first, 1),
        (left + last - first, right, right_start, right_step),
    ]
    return [piece for piece in pieces if piece[1] > 0]
