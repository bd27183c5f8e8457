"""Images of another size: each point takes its nearest neighbour, or a weighted mean of neighbours.

A mean of neighbours in two dimensions is two means in one dimension each. Where rows get more they are taken across
first, into rows that several points share. Where rows get fewer they are mixed first, into a row that stays in cache;
feature maps, whose channels fill a vector, are rather taken at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from struct import pack, unpack

from strop.graph.operators import POINTWISE, VIEWS
from strop.loops.index import Index, indirect
from strop.loops.ir import Buffer, Const, Expr, Load, Loop, Nest, Number
from strop.loops.lower import Context, as_index, extent_value, lowering, store
from strop.loops.lower.contractions import parallel
from strop.loops.lower.pointwise import apply, cast
from strop.loops.lower.windows import checked, checked_float, outer_loops

FEW_CHANNELS = 8  # fewer leave lanes of a vector empty
LONGEST_ROW = 8  # elements of a row per element of the result, up to which whole rows are mixed before they are read


def _rounding(dtype: str) -> Callable[[float], float]:
    """Round to the precision in which eager computes source positions."""
    return float if dtype == "f64" else lambda x: float(unpack("f", pack("f", x))[0])


# ---- nearest ---------------------------------------------------------------------------------------------------------


@lowering("upsample_nearest", check=checked)
def upsample_nearest(c: Context) -> list[Nest]:
    batch, points = outer_loops(c)
    extents = c.node.inputs[0].shape[-len(points) :]
    place = [_nearest(c, point, extent, scale) for point, extent, scale in zip(points, extents, c.node.attrs["scales"])]
    loops = (*batch, *points)
    return [c.nest(loops, store(c.out, loops, c.read(0, *batch, *place)))]


def _nearest(c: Context, point: Loop, extent: int, scale: float) -> Index:
    """⌊o·scale⌋ (or of o + ½), rounded as eager rounds; as a quotient where that agrees at every point."""
    precision = "f64" if c.dtype == "f64" else "f32"
    rounded = _rounding(precision)
    step, shift = rounded(scale), 0.5 if c.node.attrs["exact"] else 0.0
    wanted = [min(int(rounded((o + shift) * step)), extent - 1) for o in range(point.extent)]
    o, out = as_index(point), point.extent
    for simple in (o * extent // out, (o * 2 + 1) * extent // (2 * out)):
        if [simple.evaluate({point.var: i}) for i in range(out)] == wanted:
            return simple
    moved: Expr = Number(o, precision)
    if shift:
        moved = apply("add", moved, Const(shift, precision))
    source = cast(apply("floor", apply("mul", moved, Const(step, precision))), "i64")
    return indirect(apply("minimum", source, extent_value(extent - 1, "i64")), extent)


# ---- linear ----------------------------------------------------------------------------------------------------------


@lowering("upsample_linear", check=checked_float)
def upsample_linear(c: Context) -> list[Nest]:
    batch, points = outer_loops(c)
    extents = c.node.inputs[0].shape[-len(points) :]
    fewer = len(points) == 2 and points[0].extent <= extents[0]
    if len(points) > 2 or (fewer and _is_feature_map(c)):
        return [_at_once(c, batch, points)]
    sides = [_Neighbours.of(c, *side) for side in zip(points, extents, c.node.attrs["scales"])]
    loops = (*batch, *points)
    if len(points) == 1:
        return [c.nest(loops, store(c.out, loops, sides[0].mean(lambda x: c.read(0, *batch, x), points[0])))]
    (rows, columns), (oh, ow), (height, width) = sides, points, extents
    if fewer and width <= LONGEST_ROW * ow.extent:
        row, x = c.scratch("row", c.dtype, (width,)), parallel("x", width)
        mixed = store(row, (x,), rows.mean(lambda y: c.read(0, *batch, y, x), oh))
        result = store(c.out, loops, columns.mean(lambda place: Load(row, (place,)), ow))
        return [c.nest((*batch, oh), Nest((x,), (mixed,)), Nest((ow,), (result,)), scratch=(row,))]
    h = parallel("h", height)
    wide = c.temporary("wide", c.dtype, (*(loop.extent for loop in batch), height, ow.extent))
    across = store(wide, (*batch, h, ow), columns.mean(lambda x: c.read(0, *batch, h, x), ow))
    down = store(c.out, loops, rows.mean(lambda y: Load(wide, (*map(as_index, batch), y, as_index(ow))), oh))
    return [c.nest((*batch, h, ow), across, suffix="across"), c.nest(loops, down)]


def _is_feature_map(c: Context) -> bool:
    """Whether other operators have made what is read and go on with the result, so that channels may lie innermost."""
    source = c.node.inputs[0]
    while source.op in POINTWISE | VIEWS:
        source = max(source.inputs, key=lambda used: used.type.size)
    inside = source.op not in ("input", "param", "constant", "full") and c.out.space != "output"
    return inside and len(c.node.shape) > 2 and c.node.shape[1] >= FEW_CHANNELS


@dataclass(frozen=True)
class _Neighbours:
    """Tables of one dimension: the two places around each source position, and the second one's weight."""

    first: Buffer
    second: Buffer
    weight: Buffer | None  # None where the first place is all that counts
    extent: int
    same: bool  # whether the first place is the point's own

    @classmethod
    def of(cls, c: Context, point: Loop, extent: int, scale: float) -> _Neighbours:
        rounded = _rounding(c.dtype)
        first, second, weights = [], [], []
        for o in range(point.extent):
            if c.node.attrs["align_corners"]:
                position = rounded(o * rounded((extent - 1) / (point.extent - 1))) if point.extent > 1 else 0.0
            else:
                position = max(rounded(rounded((o + 0.5) * rounded(scale)) - 0.5), 0.0)
            low = min(int(position), extent - 1)
            first.append(low)
            second.append(min(low + 1, extent - 1))
            weights.append(min(rounded(position - low), 1.0) if low + 1 < extent else 0.0)
        name = point.name
        return cls(
            c.table(f"{name}.first", "i32", first),
            c.table(f"{name}.second", "i32", second),
            c.table(f"{name}.weight", c.dtype, weights) if any(weights) else None,
            extent,
            first == list(range(extent)),
        )

    def mean(self, read: Callable[[Index], Expr], point: Loop) -> Expr:
        o = as_index(point)
        low = read(o if self.same else indirect(Load(self.first, (o,)), self.extent, sure=True))
        if self.weight is None:
            return low
        weight = Load(self.weight, (o,))
        high = read(indirect(Load(self.second, (o,)), self.extent, sure=True))
        rest = apply("sub", Const(1.0, low.dtype), weight)
        return apply("add", apply("mul", rest, low), apply("mul", weight, high))


def _at_once(c: Context, batch: Sequence[Loop], points: Sequence[Loop]) -> Nest:
    """Each point is a weighted mean of the two nearest places per dimension, the last dimension first."""
    extents = c.node.inputs[0].shape[-len(points) :]
    sides = [
        _neighbours(c, point, extent, scale) for point, extent, scale in zip(points, extents, c.node.attrs["scales"])
    ]
    loops = (*batch, *points)
    corners = [c.read(0, *batch, *(side[0][which] for side, which in zip(sides, corner)))
               for corner in product((0, 1), repeat=len(points))]  # fmt: skip
    for _, weight in reversed(sides):
        rest = apply("sub", Const(1.0, c.dtype), weight)
        corners = [
            apply("add", apply("mul", rest, low), apply("mul", weight, high))
            for low, high in zip(corners[::2], corners[1::2])
        ]
    return c.nest(loops, store(c.out, loops, corners[0]))


def _neighbours(c: Context, point: Loop, extent: int, scale: float) -> tuple[tuple[Index, Index], Expr]:
    """The two places around a source position, and the second one's weight."""
    o = Number(as_index(point), c.dtype)
    if c.node.attrs["align_corners"]:
        step = (extent - 1) / (point.extent - 1) if point.extent > 1 else 0.0
        position = apply("mul", o, Const(_rounding(c.dtype)(step), c.dtype))
    else:
        half, step = Const(0.5, c.dtype), _rounding(c.dtype)(scale)
        moved = apply("sub", apply("mul", apply("add", o, half), Const(step, c.dtype)), half)
        position = apply("maximum", moved, Const(0.0, c.dtype))
    last = extent_value(extent - 1, "i64")
    first = apply("minimum", cast(apply("floor", position), "i64"), last)
    second = apply("minimum", apply("add", first, Const(1, "i64")), last)
    weight = apply("minimum", apply("sub", position, cast(first, c.dtype)), Const(1.0, c.dtype))
    return (indirect(first, extent), indirect(second, extent)), weight
