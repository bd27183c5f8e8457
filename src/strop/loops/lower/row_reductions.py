"""Softmax and norms: several passes over one row, which stays in cache, under parallel loops over rows.

    parallel i0 in 128:
      scratch top, total, e[768]
      reduce k1: top[] max= x[i0, k1]
      reduce j1: e[j1] = exp(x[i0, j1] - top[]); total[] += e[j1]
      parallel w1: out[i0, w1] = e[w1] * scale[]

Means and variances take two passes, since Σx² - (Σx)²/n loses the digits that matter.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from strop.core.extents import Extent
from strop.loops.index import Index
from strop.loops.ir import Buffer, Const, Expr, Loop, Nest, Store, neutral
from strop.loops.lower import Context, as_index, extent_value, lowering, store
from strop.loops.lower.pointwise import apply, like
from strop.loops.lower.reductions import at, fold, point, row_loops


class RowNest:
    """One dimension of a tensor as a row; every pass over it has a loop of its own."""

    def __init__(self, c: Context) -> None:
        self.c = c
        self.shape = c.node.shape
        rank = len(self.shape)
        self.dims = (c.node.attrs["dim"] % rank,) if rank else ()
        self.others = row_loops("i", self.shape, [dim for dim in range(rank) if dim not in self.dims], "parallel")
        self.length = prod(self.shape[dim] for dim in self.dims)

    def walk(self, prefix: str, kind: str = "reduce") -> tuple[tuple[Loop, ...], list[Loop], list[Loop]]:
        """A pass: its loops, the index of its element in the tensor, and in a row of scratch."""
        along = row_loops(prefix, self.shape, self.dims, kind)
        loops = tuple(along.values())
        return loops, point(len(self.shape), self.others, along), list(loops)


@lowering("softmax")
def softmax(c: Context) -> list[Nest]:
    row = RowNest(c)
    top, total, scale = (c.scratch(name, c.dtype) for name in ("top", "total", "scale"))
    e = c.scratch("e", c.dtype, tuple(row.shape[dim] for dim in row.dims))
    loops, here, _ = row.walk("k")
    largest = fold(top, loops, c.read(0, *here), "max")
    loops, here, slot = row.walk("j")
    powers = Nest(
        loops,
        (
            store(e, slot, apply("exp_nonpositive", apply("sub", c.read(0, *here), at(top)))),
            store(total, (), at(e, *slot), "sum"),
        ),
    )
    invert = store(scale, (), apply("reciprocal", at(total)))
    loops, here, slot = row.walk("w", "parallel")
    write = Nest(loops, (store(c.out, here, apply("mul", at(e, *slot), at(scale))),))
    start = _start(total)
    return [c.nest(tuple(row.others.values()), *largest, start, powers, invert, write, scratch=[top, total, scale, e])]


@lowering("log_softmax")
def log_softmax(c: Context) -> list[Nest]:
    row = RowNest(c)
    top, total, shift = (c.scratch(name, c.dtype) for name in ("top", "total", "shift"))
    loops, here, _ = row.walk("k")
    largest = fold(top, loops, c.read(0, *here), "max")
    loops, here, _ = row.walk("j")
    powers = fold(total, loops, apply("exp_nonpositive", apply("sub", c.read(0, *here), at(top))), "sum")
    logarithm = store(shift, (), apply("log", at(total)))
    loops, here, _ = row.walk("w", "parallel")
    # (x - top) - log Σ, not x - (top + log Σ): the first difference is exact where it matters, near the top
    value = apply("sub", apply("sub", c.read(0, *here), at(top)), at(shift))
    write = Nest(loops, (store(c.out, here, value),))
    return [c.nest(tuple(row.others.values()), *largest, *powers, logarithm, write, scratch=[top, total, shift])]


@lowering("layer_norm")
def layer_norm(c: Context) -> list[Nest]:
    shape, axes = c.node.shape, c.node.attrs["axes"]
    rank = len(shape)
    rows = row_loops("i", shape, range(rank - axes), "parallel")
    last = range(rank - axes, rank)
    passes = [row_loops(prefix, shape, last) for prefix in "kj"]
    moments = _Moments(c, *((tuple(p.values()), c.read(0, *point(rank, rows, p))) for p in passes))
    along = row_loops("w", shape, last, "parallel")
    here = point(rank, rows, along)
    value = moments.normalised(c.read(0, *here))
    value = _affine(c, value, 1, tuple(map(as_index, along.values())))
    write = Nest(tuple(along.values()), (store(c.out, here, value),))
    return [c.nest(tuple(rows.values()), *moments.body, write, scratch=moments.scratch)]


@lowering("rms_norm")
def rms_norm(c: Context) -> list[Nest]:
    shape, axes, eps = c.node.shape, c.node.attrs["axes"], c.node.attrs["eps"]
    rank = len(shape)
    rows = row_loops("i", shape, range(rank - axes), "parallel")
    last = range(rank - axes, rank)
    total, scale = c.scratch("total", c.dtype), c.scratch("scale", c.dtype)
    inner = row_loops("k", shape, last)
    x = c.read(0, *point(rank, rows, inner))
    squares = fold(total, tuple(inner.values()), apply("mul", x, x), "sum")
    finish = store(scale, (), _rsqrt_of_mean(total, prod(shape[rank - axes :]), eps))
    along = row_loops("w", shape, last, "parallel")
    here = point(rank, rows, along)
    value = apply("mul", c.read(0, *here), at(scale))
    if c.node.attrs["has_weight"]:
        weight = c.read(1, *along.values())
        offset = c.node.attrs.get("offset", 0.0)
        value = apply("mul", value, apply("add", weight, like(weight, offset)) if offset else weight)
    write = Nest(tuple(along.values()), (store(c.out, here, value),))
    return [c.nest(tuple(rows.values()), *squares, finish, write, scratch=[total, scale])]


@lowering("group_norm")
def group_norm(c: Context) -> list[Nest]:
    """One group is one row with all of space. Several are normalised channel by channel, since channels are what lies
    side by side in an image, and a group has few of them."""
    groups, space = c.node.attrs["groups"], c.node.shape[2:]
    return _one_group(c) if groups == 1 or prod(space) == 1 else _several_groups(c)


def _one_group(c: Context) -> list[Nest]:
    batch, channels, *space = c.node.shape
    groups = c.node.attrs["groups"]
    inside = (batch, groups, channels // groups, *space)
    outer = row_loops("i", inside, (0, 1), "parallel")
    n, g = outer.values()

    def element(along: dict[int, Loop]) -> tuple[Index, ...]:
        channel, *rest = along.values()
        return (as_index(n), as_index(g) * inside[2] + as_index(channel), *map(as_index, rest))

    row = range(2, len(inside))
    passes = [row_loops(prefix, inside, row) for prefix in "kj"]
    moments = _Moments(c, *((tuple(p.values()), c.read(0, *element(p))) for p in passes))
    along = row_loops("w", inside, row, "parallel")
    here = element(along)
    value = _affine(c, moments.normalised(c.read(0, *here)), 1, here[1:2])
    write = Nest(tuple(along.values()), (store(c.out, here, value),))
    return [c.nest((n, g), *moments.body, write, scratch=moments.scratch)]


def _several_groups(c: Context) -> list[Nest]:
    """Means and sums of squared distances of a channel's lines, which stay in L1; of channels, made of those of their
    lines; of groups, made of those of their channels; and then every point for itself, to be fused with what follows.
    """
    batch, channels, *space = c.node.shape
    lines, length = (space[0], prod(space[1:])) if len(space) > 1 else _lines(space[0])
    means, spreads = (c.temporary(name, c.dtype, (batch * lines, channels)) for name in ("lines", "distances"))
    n, line, channel = c.loops("i", (batch, lines, channels))
    here = (as_index(n) * lines + as_index(line), as_index(channel))

    def walk(prefix: str) -> tuple[tuple[Loop, ...], Expr]:
        loops = c.loops(prefix, space[1:] if len(space) > 1 else (length,), "reduce")
        place = (line, *loops) if len(space) > 1 else (as_index(line) * length + as_index(loops[0]),)
        return loops, c.read(0, n, channel, *place)

    moments = _Moments(c, walk("k"), walk("j"))
    results = (store(means, here, at(moments.mean)), store(spreads, here, at(moments.spread)))
    stages = [c.nest((n, line, channel), *moments.sums, *results, scratch=moments.scratch[:-1], suffix="lines")]
    parts = _Parts(c, means, spreads, lines, length)
    stages += [parts.of_channels(), parts.of_groups()]
    loops = c.loops("i", c.node.shape)
    value = apply("sub", c.read(0, *loops), at(parts.mean, *loops[:2]))
    value = apply("mul", value, at(parts.scale, *loops[:2]))
    if c.node.attrs["has_bias"]:
        value = apply("add", value, c.read(1 + c.node.attrs["has_weight"], loops[1]))
    return [*stages, c.nest(loops, store(c.out, loops, value))]


LONGEST_LINE = 256


def _lines(extent: int) -> tuple[int, int]:
    """A single dimension of space as lines: how many, and how long."""
    length = next(by for by in range(min(extent, LONGEST_LINE), 0, -1) if extent % by == 0)
    return (extent // length, length) if length > LONGEST_LINE // 8 else (1, extent)


class _Parts:
    """Moments of a whole from those of equal parts: Σ(x - m)² is the sum of spread + size·(mean - m)² over the parts.

    That keeps all digits, and reads an image once.
    """

    def __init__(self, c: Context, means: Buffer, spreads: Buffer, lines: int, length: int) -> None:
        self.c, self.means, self.spreads, self.lines, self.length = c, means, spreads, lines, length
        self.batch, self.channels = c.node.shape[:2]
        shape = (self.batch, self.channels)
        self.channel_means, self.channel_spreads = (c.temporary(name, c.dtype, shape) for name in ("means", "spreads"))
        self.mean, self.scale = (c.temporary(name, c.dtype, shape) for name in ("mean", "scale"))

    def of_channels(self) -> Nest:
        n, channel = self.c.loops("i", (self.batch, self.channels))

        def part(prefix: str, source: Buffer) -> tuple[tuple[Loop, ...], Expr]:
            loops = self.c.loops(prefix, (self.lines,), "reduce")
            return loops, at(source, as_index(n) * self.lines + as_index(loops[0]), channel)

        body, scratch, mean, spread = self._combined(part, self.means, self.spreads, self.length)
        results = (
            store(self.channel_means, (n, channel), at(mean)),
            store(self.channel_spreads, (n, channel), at(spread)),
        )
        return self.c.nest((n, channel), *body, *results, scratch=scratch, suffix="channels")

    def of_groups(self) -> Nest:
        """Also writes the mean, and what to multiply with, for every channel."""
        c, groups = self.c, self.c.node.attrs["groups"]
        size = self.channels // groups
        n, g = c.loops("i", (self.batch, groups))

        def part(prefix: str, source: Buffer) -> tuple[tuple[Loop, ...], Expr]:
            loops = c.loops(prefix, (size,), "reduce")
            return loops, at(source, n, as_index(g) * size + as_index(loops[0]))

        body, scratch, mean, spread = self._combined(
            part, self.channel_means, self.channel_spreads, self.lines * self.length
        )
        factor = c.scratch("factor", c.dtype)
        count = size * self.lines * self.length
        (along,) = c.loops("w", (size,))
        here = as_index(g) * size + as_index(along)
        value: Expr = at(factor)
        if c.node.attrs["has_weight"]:
            value = apply("mul", value, c.read(1, here))
        write = Nest((along,), (store(self.mean, (n, here), at(mean)), store(self.scale, (n, here), value)))
        finish = store(factor, (), _rsqrt_of_mean(spread, count, c.node.attrs["eps"]))
        return c.nest((n, g), *body, finish, write, scratch=[*scratch, factor], suffix="groups")

    def _combined(
        self, part: Callable[[str, Buffer], tuple[tuple[Loop, ...], Expr]], means: Buffer, spreads: Buffer, size: int
    ) -> tuple[tuple[Store | Nest, ...], list[Buffer], Buffer, Buffer]:
        total, mean, spread = (self.c.scratch(name, self.c.dtype) for name in ("total", "mean", "spread"))
        first, value = part("k", means)
        count = prod(loop.extent for loop in first)
        second, near = part("j", means)
        distance = apply("sub", near, at(mean))
        apart = apply("mul", apply("mul", distance, distance), like(near, float(size)))
        body = (
            *fold(total, first, value, "sum"),
            store(mean, (), apply("div", at(total), extent_value(count, total.dtype))),
            *fold(spread, second, apply("add", part("j", spreads)[1], apart), "sum"),
        )
        return body, [total, mean, spread], mean, spread


@lowering("batch_norm")
def batch_norm(c: Context) -> list[Nest]:
    """Pointwise, so that it fuses with what surrounds it; the factor depends on the channel alone and is hoisted."""
    loops = c.loops("i", c.node.shape)
    channel = loops[1]
    variance = c.read(2, channel)
    factor = apply("rsqrt", apply("add", variance, like(variance, c.node.attrs["eps"])))
    if c.node.attrs["has_weight"]:
        factor = apply("mul", factor, c.read(3, channel))
    value = apply("mul", apply("sub", c.read(0, *loops), c.read(1, channel)), factor)
    if c.node.attrs["has_bias"]:
        value = apply("add", value, c.read(3 + c.node.attrs["has_weight"], channel))
    return [c.nest(loops, store(c.out, loops, value))]


class _Moments:
    """Mean and 1/√(variance + eps) of a row in two passes, each given as (its loops, its element)."""

    def __init__(self, c: Context, first: tuple[tuple[Loop, ...], Expr], second: tuple[tuple[Loop, ...], Expr]) -> None:
        total, self.spread = c.scratch("total", c.dtype), c.scratch("spread", c.dtype)
        self.mean, self.scale = c.scratch("mean", c.dtype), c.scratch("scale", c.dtype)
        count = prod(loop.extent for loop in first[0])
        distance = apply("sub", second[1], at(self.mean))
        self.scratch = [total, self.mean, self.spread, self.scale]
        self.sums: tuple[Store | Nest, ...] = (
            *fold(total, first[0], first[1], "sum"),
            store(self.mean, (), apply("div", at(total), extent_value(count, total.dtype))),
            *fold(self.spread, second[0], apply("mul", distance, distance), "sum"),
        )
        finish = store(self.scale, (), _rsqrt_of_mean(self.spread, count, c.node.attrs["eps"]))
        self.body: tuple[Store | Nest, ...] = (*self.sums, finish)

    def normalised(self, x: Expr) -> Expr:
        return apply("mul", apply("sub", x, at(self.mean)), at(self.scale))


def _rsqrt_of_mean(total: Buffer, count: Extent, eps: float) -> Expr:
    mean = apply("div", at(total), extent_value(count, total.dtype))
    return apply("rsqrt", apply("add", mean, like(mean, eps)))


def _affine(c: Context, value: Expr, first: int, index: tuple[Index, ...]) -> Expr:
    """value·weight + bias, as far as the node has them, as inputs `first` and following."""
    if c.node.attrs["has_weight"]:
        value = apply("mul", value, c.read(first, *index))
        first += 1
    if c.node.attrs["has_bias"]:
        value = apply("add", value, c.read(first, *index))
    return value


def _start(total: Buffer) -> Store:
    return store(total, (), Const(neutral("sum", total.dtype), total.dtype))
