"""Winograd's convolution: short filters at stride 1 by tiles of outputs, with one product per point of a window
instead of one per output and tap: 36 for 4×4 outputs of a 3×3 filter, not 144.

    U = G·w·Gᵀ                                     # depends on the weight alone: computed once
    for each strip of tiles:
      V = Bᵀ·x·B                                   # per tile and input channel
      for each block of output channels:
        M[xi] = V[xi]·U[xi]                        # 36 small matrix products
        y = Aᵀ·M·A + bias                          # per tile and output channel

Tiles lie along one or two dimensions of space. What the filter does along others (depth, a stride) is summed up with
the channels, dilation makes tiles of every n-th pixel, and groups of channels meet only their own.

Another algorithm for `conv`, not the one that lowering takes by itself: scheduling chooses it where it pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log, prod

from strop.core.passes import Verdict, no, yes
from strop.core.values import cached_property
from strop.graph.ir import Node
from strop.loops.index import Index, index_of
from strop.loops.ir import Buffer, Const, Expr, Guard, Load, Loop, Nest, Store
from strop.loops.lower import Context, as_index, store
from strop.loops.lower.concat_pad import guarded
from strop.loops.lower.contractions import SPACE, accumulate, inside, parallel, reducing, value_of
from strop.loops.lower.pointwise import apply
from strop.loops.lower.winograd_transforms import POINTS, Matrix, transformed, transforms, weighted_sum

#: taps of a filter along a dimension that tiles lie along: in all, and of a section that is transformed as one
FEWEST_TAPS, MOST_TAPS, LONGEST_SECTION = 2, 16, 5


@dataclass(frozen=True)
class Axis:
    """A dimension of space: tiles of outputs lie along it (`tiled`), or single outputs.

    The outputs of a transposed convolution that are `stride` apart meet the same taps: they are a plain convolution's,
    one for each of so many phases, with the taps in reverse order.
    """

    name: str
    place: int
    extent: int
    out: int
    size: int
    stride: int
    dilation: int
    before: int
    transposed: bool
    tiled: bool = False
    window: int = 1

    @property
    def phases(self) -> int:
        return self.stride if self.transposed else 1

    @property
    def count(self) -> int:
        """Taps of one phase."""
        return -(-self.size // self.phases)

    @property
    def sections(self) -> int:
        """Parts of a long filter, whose transforms are summed up: as many as need the fewest products."""
        if not self.tiled:
            return self.count
        widest = max(POINTS)
        parts = [(s, -(-self.count // s)) for s in range(1, self.count)]
        costs = {s: s / (widest - taps + 1) for s, taps in parts if taps <= LONGEST_SECTION}
        return min(costs, key=lambda s: costs[s], default=1)

    @property
    def taps(self) -> int:
        """Of one section."""
        return -(-self.count // self.sections)

    @property
    def tile(self) -> int:
        return self.window - self.taps + 1 if self.tiled else 1

    @property
    def tiles(self) -> int:
        """Tiles of every `dilation`-th output of a phase, from one of them on."""
        return -(-self.out // (self.phases * self.dilation * self.tile))

    @property
    def positions(self) -> int:
        return self.tiles * self.dilation if self.tiled else -(-self.out // self.phases)

    def first(self, position: Index) -> Index:
        """The first output of a tile, counted within its phase."""
        if not self.tiled:
            return position
        if self.dilation == 1:
            return position * self.tile
        return position // self.tiles + (position % self.tiles) * (self.tile * self.dilation)

    def output(self, position: Index, step: Index | int, phase: Index) -> Index:
        return (self.first(position) + index_of(step) * self.dilation) * self.phases + phase

    def pixel(self, position: Index, step: Index | int, phase: Index) -> Index:
        """The pixel of a window, or the one that a tap reads."""
        moved = index_of(step) * self.dilation
        if self.transposed:
            back = (self.count - 1) * self.dilation
            return self.first(position) + moved + (phase + self.before) // self.stride - back
        base = self.first(position) if self.tiled else position * self.stride
        return base + moved - self.before

    def tap(self, step: Index | int, phase: Index) -> Index:
        """Where the filter has a tap of a phase."""
        if not self.transposed:
            return index_of(step)
        return (phase + self.before) % self.stride + (index_of(step) * -1 + (self.count - 1)) * self.stride


def axes_of(node: Node) -> list[Axis]:
    """The space of a convolution; tiles lie along the last two dimensions where that is possible."""
    attrs, weight = node.attrs, node.inputs[1].shape
    found = [
        Axis(
            name,
            place=i,
            extent=node.inputs[0].shape[2 + i],
            out=node.shape[2 + i],
            size=weight[2 + i],
            stride=attrs["stride"][i],
            dilation=attrs["dilation"][i],
            before=attrs["padding"][i][0],
            transposed=attrs["transposed"],
        )
        for i, name in enumerate(SPACE[len(weight) - 2])
    ]
    fit = [axis.place for axis in found if axis.stride in (1, axis.phases) and FEWEST_TAPS <= axis.count <= MOST_TAPS]
    return [replace(axis, tiled=axis.place in fit[-2:]) for axis in found]


def winograd_applies(node: Node) -> Verdict:
    """Whether a convolution can be computed this way, and why not."""
    if node.op != "conv":
        return no("Winograd computes convolutions")
    if len(node.shape) - 2 not in SPACE:
        return no(f"Winograd needs 1, 2 or 3 dimensions of space, not {len(node.shape) - 2}")
    axes = axes_of(node)
    if any(axis.phases > 1 and axis.dilation > 1 for axis in axes):
        return no("Winograd computes transposed convolutions with a stride or with dilation, not with both")
    if not any(axis.tiled for axis in axes):
        shape = "×".join(map(str, node.inputs[1].shape[2:]))
        return no(
            f"Winograd needs {FEWEST_TAPS} to {MOST_TAPS} taps at stride 1 along some dimension, this filter is {shape}"
        )
    if node.dtype not in ("f32", "f64"):
        return no(f"Winograd computes with f32 and f64, not {node.dtype}")
    return yes()


def winograd(c: Context, window: int = 6, strip: int = 12, block: int = 16) -> list[Nest]:
    """The nests. Windows are of so many pixels along each dimension that tiles lie along; `strip` tiles (about: a
    divisor of an image's tiles is taken, or all tiles of several images) share one pass over the transformed weights,
    `block` output channels (at most: a divisor of those of a group) one set of products."""
    axes = [replace(axis, window=window) if axis.tiled else axis for axis in axes_of(c.node)]
    plan = _WinogradConvolution(c, axes, strip, block)
    shape = (plan.blocks, plan.points, *(loop.extent for loop in plan.taps("")), plan.channels, plan.block)
    weights = c.temporary("u", c.dtype, (*(loop.extent for loop in plan.phases), *shape))
    return [_transform_weights(plan, weights), _convolve(plan, weights)]


#: along a dimension that tiles do not lie along: one point, as it is
_AS_IT_IS: tuple[Matrix, Matrix, Matrix] = ([[Fraction(1)]], [[Fraction(1)]], [[Fraction(1)]])


@dataclass(frozen=True)
class _WinogradConvolution:
    c: Context
    axes: Sequence[Axis]
    wanted_strip: int
    wanted_block: int

    @cached_property
    def tiled(self) -> tuple[Axis | None, Axis]:
        """The dimensions that tiles lie along; the first may be missing."""
        *first, last = [axis for axis in self.axes if axis.tiled]
        return (first[0] if first else None), last

    @cached_property
    def matrices(self) -> list[tuple[Matrix, Matrix, Matrix]]:
        return [transforms(axis.tile, axis.taps) if axis else _AS_IT_IS for axis in self.tiled]

    @cached_property
    def window(self) -> tuple[int, int]:
        a, b = ((axis.window if axis else 1) for axis in self.tiled)
        return a, b

    @cached_property
    def tile(self) -> tuple[int, int]:
        a, b = ((axis.tile if axis else 1) for axis in self.tiled)
        return a, b

    @property
    def points(self) -> int:
        return prod(self.window)

    @property
    def channels(self) -> int:
        """Of a group's input."""
        return int(self.c.node.inputs[0].shape[1]) // self.groups

    @property
    def groups(self) -> int:
        found: int = self.c.node.attrs["groups"]
        return found

    @cached_property
    def phases(self) -> tuple[Loop, ...]:
        return tuple(parallel(f"f{axis.name}", axis.phases) for axis in self.axes if axis.phases > 1)

    def phase(self, axis: Axis) -> Index:
        """Which phase of a dimension is being computed."""
        found = [loop for loop in self.phases if loop.name == f"f{axis.name}"]
        return as_index(found[0]) if found else index_of(0)

    def taps(self, kind: str) -> tuple[Loop, ...]:
        """Loops over the taps along other dimensions, and over the sections of long filters."""
        make = reducing if kind == "reduce" else parallel
        return tuple(make(f"k{axis.name}{kind[:1]}", axis.sections) for axis in self.axes if axis.sections > 1)

    def steps(self, within: tuple[int, int], taps: Sequence[Loop]) -> list[Index]:
        """Which tap of each dimension, or pixel of a window, loops over taps and a place within a tile stand for."""
        left = list(taps)
        found = []
        for axis in self.axes:
            outer = as_index(left.pop(0)) if axis.sections > 1 else index_of(0)
            inner = within[1] if axis is self.tiled[1] else within[0] if axis.tiled else 0
            found.append(outer * axis.taps + inner)
        return found

    @cached_property
    def strips(self) -> int:
        return prod(axis.positions for axis in self.axes) // self.strip

    @cached_property
    def strip(self) -> int:
        """The divisor of the number of tiles nearest to the wanted strip."""
        tiles = prod(axis.positions for axis in self.axes)
        return min(_divisors(tiles), key=lambda d: (abs(log(d / self.wanted_strip)), d))

    @cached_property
    def images(self) -> int:
        """Images of a strip: several only where an image has fewer tiles than a strip."""
        return images_of_strip(self.c.node.shape[0], prod(axis.positions for axis in self.axes), self.wanted_strip)

    def image(self, n: Loop, within: Loop) -> Index:
        return as_index(n) * self.images + as_index(within) if self.images > 1 else as_index(n)

    def tile_of_strip(self, image: Loop, within: Loop) -> Index:
        return as_index(image) * self.strip + as_index(within) if self.images > 1 else as_index(within)

    def loops(self, image: Loop, *others: Loop) -> tuple[Loop, ...]:
        """Loops over the images of a strip, if there are several, and others."""
        return (image, *others) if self.images > 1 else others

    @cached_property
    def block(self) -> int:
        outputs = self.c.node.shape[1] // self.groups
        return max(d for d in _divisors(outputs) if d <= self.wanted_block)

    @property
    def blocks(self) -> int:
        return int(self.c.node.shape[1]) // self.block

    def group(self, ob: Loop) -> Index:
        return as_index(ob) // (self.blocks // self.groups) if self.groups > 1 else index_of(0)

    def positions(self, strip: Loop, within: Loop) -> list[Index]:
        """Where a tile lies along each dimension; the last one changes fastest."""
        s, q = as_index(strip), as_index(within)
        *others, last = self.axes
        if last.positions % self.strip == 0:  # several strips make a row of tiles: steps within one are plain
            per_row = last.positions // self.strip
            rest, found = s // per_row, [(s % per_row) * self.strip + q]
        else:
            whole = s * self.strip + q
            rest, found = whole // last.positions, [whole % last.positions if others else whole]
        for axis in reversed(others[1:]):
            rest, place = rest // axis.positions, rest % axis.positions
            found.insert(0, place)
        return [rest, *found] if others else found

    def pixel(self, positions: Sequence[Index], within: tuple[int, int], taps: Sequence[Loop]) -> list[Index]:
        """The pixel at a place of a tile's window, by some taps along other dimensions."""
        steps = self.steps(within, taps)
        return [a.pixel(position, step, self.phase(a)) for a, position, step in zip(self.axes, positions, steps)]


def _transform_weights(plan: _WinogradConvolution, target: Buffer) -> Nest:
    """U = G·w·Gᵀ"""
    c, (rows, columns) = plan.c, plan.window
    (_, over, _), (_, along, _) = plan.matrices
    heights, widths = ((axis.taps if axis else 1) for axis in plan.tiled)
    ob, oi, ic = parallel("ob", plan.blocks), parallel("oi", plan.block), parallel("ic", plan.channels)
    taps = plan.taps("")
    oc = as_index(ob) * plan.block + as_index(oi)
    first = (*plan.phases, ob)
    half = c.scratch("half", c.dtype, (rows, widths))

    def tap(kh: int, kw: int) -> Expr:
        steps = plan.steps((kh, kw), taps)
        place = [axis.tap(step, plan.phase(axis)) for axis, step in zip(plan.axes, steps)]
        channels: tuple[Index, Index] = oc, as_index(ic)
        if c.node.attrs["transposed"]:
            outputs = c.node.shape[1] // plan.groups
            channels = (oc // outputs) * plan.channels + as_index(ic), oc % outputs
        return guarded(c.read(1, *channels, *place), inside(*zip(place, c.node.inputs[1].shape[2:])), 0)

    body = [
        store(half, (i, kw), weighted_sum(over[i], [tap(kh, kw) for kh in range(heights)]))
        for i in range(rows)
        for kw in range(widths)
    ]
    body += [
        store(
            target,
            (*first, i * columns + j, *taps, ic, oi),
            weighted_sum(along[j], [at(half, i, kw) for kw in range(widths)]),
        )
        for i in range(rows)
        for j in range(columns)
    ]
    return c.nest((*first, oi, *taps, ic), *body, scratch=(half,), suffix="weights")


def _convolve(plan: _WinogradConvolution, weights: Buffer) -> Nest:
    c = plan.c
    n, s = parallel("n", c.node.shape[0] // plan.images), parallel("s", plan.strips)
    strip = plan.images * plan.strip
    taps = plan.taps("reduce")
    depths = tuple(loop.extent for loop in taps)
    v = c.scratch("v", c.dtype, (plan.points, strip, *depths, c.node.inputs[0].shape[1]))
    ob = parallel("ob", plan.blocks)
    m = c.scratch("m", c.dtype, (plan.points, strip, plan.block))
    acc = c.scratch("acc", c.dtype)
    xi, q, oi = parallel("xi", plan.points), parallel("q", strip), parallel("oi", plan.block)
    k = reducing("k", plan.channels)
    left = tuple(as_index(i) for i in (xi, q, *taps))
    right = tuple(as_index(i) for i in (*plan.phases, ob, xi, *taps, k, oi))
    channel = plan.group(ob) * plan.channels + as_index(k)
    summed = accumulate(acc, (*taps, k), Load(v, (*left, channel)), Load(weights, right))
    products = Nest((xi, q, oi), (*summed, store(m, (xi, q, oi), value_of(acc))), (acc,))
    outputs = _inverse(plan, m, n, s, ob)
    each = Nest((ob,), (products, outputs), (m,))
    return c.nest((n, *plan.phases, s), _transform_input(plan, n, s, v), each, scratch=(v,))


def _transform_input(plan: _WinogradConvolution, n: Loop, s: Loop, target: Buffer) -> Nest:
    """V = Bᵀ·x·B for each tile of the strip and each channel"""
    c, (rows, columns) = plan.c, plan.window
    (_, _, over), (_, _, along) = plan.matrices
    pn, p, ic = parallel("pn", plan.images), parallel("p", plan.strip), parallel("ic", target.shape[-1])
    taps = plan.taps("input")
    positions = plan.positions(s, p)
    d, half = c.scratch("d", c.dtype, (rows, columns)), c.scratch("bd", c.dtype, (rows, columns))
    body: list[Store] = []
    for j in range(columns):
        for i in range(rows):
            place = plan.pixel(positions, (i, j), taps)
            edges = inside(*zip(place, c.node.inputs[0].shape[2:]))
            body.append(store(d, (i, j), guarded(c.read(0, plan.image(n, pn), ic, *place), edges, 0)))
        mixed = transformed(over, [at(d, i, j) for i in range(rows)])
        body += [store(half, (i, j), value) for i, value in enumerate(mixed)]
    for i in range(rows):
        mixed = transformed(along, [at(half, i, j) for j in range(columns)])
        at_tile = plan.tile_of_strip(pn, p)
        body += [store(target, (i * columns + j, at_tile, *taps, ic), value) for j, value in enumerate(mixed)]
    return Nest(plan.loops(pn, p, *taps, ic), tuple(body), (d, half))


def _inverse(plan: _WinogradConvolution, m: Buffer, n: Loop, s: Loop, ob: Loop) -> Nest:
    """y = Aᵀ·M·A + bias for each tile of the strip and each channel of the block; what hangs over is not written"""
    c, (rows, columns), (height, width) = plan.c, plan.window, plan.tile
    (over, _, _), (along, _, _) = plan.matrices
    rn, r, oj = parallel("rn", plan.images), parallel("r", plan.strip), parallel("oj", plan.block)
    oc = as_index(ob) * plan.block + as_index(oj)
    half, tile = c.scratch("am", c.dtype, (height, columns)), c.scratch("y", c.dtype, (height, width))
    body: list[Store | Nest] = []
    for j in range(columns):
        column = [Load(m, (index_of(i * columns + j), plan.tile_of_strip(rn, r), as_index(oj))) for i in range(rows)]
        body += [store(half, (i, j), value) for i, value in enumerate(transformed(over, column))]
    for i in range(height):
        mixed = transformed(along, [at(half, i, k) for k in range(columns)])
        body += [store(tile, (i, j), value) for j, value in enumerate(mixed)]
    sound = c.scratch("sound", c.dtype)
    outputs = [at(tile, i, j) for i in range(height) for j in range(width)]
    body.append(store(sound, (), apply("watch", zero_or_nan(outputs))))
    ti, tj = parallel("ti", height), parallel("tj", width)
    value: Expr = Load(tile, (as_index(ti), as_index(tj)))
    if len(c.node.inputs) == 3:
        value = apply("add", value, c.read(2, oc))
    place: list[Index] = []
    guards: list[Guard] = []
    for axis, position in zip(plan.axes, plan.positions(s, r)):
        step: Loop | int = tj if axis is plan.tiled[1] else ti if axis.tiled else 0
        place.append(axis.output(position, as_index(step), plan.phase(axis)))
        guards += inside((place[-1], axis.out))
    body.append(Nest((ti, tj), (replace(store(c.out, (plan.image(n, rn), oc, *place), value), guards=tuple(guards)),)))
    return Nest(plan.loops(rn, r, oj), tuple(body), (half, tile, sound))


def zero_or_nan(values: Sequence[Expr]) -> Expr:
    """0 where all values are finite, NaN where one is not: a tile spreads that over all of its outputs."""
    zero = Const(0.0, values[0].dtype)
    total: Expr = zero
    for value in values:
        total = apply("add", apply("mul", value, zero), total)
    return total


# ---- the transforms --------------------------------------------------------------------------------------------------


def at(buffer: Buffer, *index: int) -> Expr:
    return Load(buffer, tuple(map(index_of, index)))


def images_of_strip(batch: int, tiles: int, strip: int) -> int:
    """How many images of so many tiles each make a strip of so many tiles at most; all strips have as many."""
    return max((d for d in _divisors(batch) if d * tiles <= strip), default=1)


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]
