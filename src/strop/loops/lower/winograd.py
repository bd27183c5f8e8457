"""Winograd's convolution: 3×3 filters at stride 1 by tiles of 4×4 (or 2×2) outputs, with 36 (or 16) products for each
instead of 144 (or 36).

    U = G·w·Gᵀ                                     # depends on the weight alone: computed once
    for each strip of tiles:
      V = Bᵀ·x·B                                   # per tile and input channel
      for each block of output channels:
        M[xi] = V[xi]·U[xi]                        # 36 small matrix products
        y = Aᵀ·M·A + bias                          # per tile and output channel

Another algorithm for `conv`, not the one that lowering takes by itself: scheduling chooses it where it pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from math import log

from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node
from strop.loops.index import Index, index_of
from strop.loops.ir import Buffer, Const, Expr, Load, Loop, Nest, Store
from strop.loops.lower import Context, as_index, store
from strop.loops.lower.contractions import accumulate, inside, parallel, reducing, value_of
from strop.loops.lower.pointwise import apply
from strop.loops.lower.together import guarded

Row = Sequence[Fraction]
Matrix = Sequence[Row]

#: outputs per tile and dimension → interpolation points besides infinity. With ±3/4 and ±4/3 the error is 1–2e-6 of
#: the output's scale; the textbook's ±1 and ±2 give 6–14e-6.
POINTS = {
    2: (Fraction(0), Fraction(1), Fraction(-1)),
    4: (Fraction(0), Fraction(3, 4), Fraction(-3, 4), Fraction(4, 3), Fraction(-4, 3)),
}
TAPS = 3


def winograd_applies(node: Node) -> Verdict:
    """Whether a convolution can be computed this way, and why not."""
    if node.op != "conv" or node.attrs["transposed"]:
        return no("Winograd computes convolutions that are not transposed")
    weight = node.inputs[1].shape
    if weight[2:] != (TAPS, TAPS):
        return no(f"Winograd needs a 3×3 filter, this one is {'×'.join(map(str, weight[2:]))}")
    if set(node.attrs["stride"]) != {1} or set(node.attrs["dilation"]) != {1}:
        return no("Winograd needs stride 1 and no dilation")
    if node.attrs["groups"] != 1:
        return no("Winograd needs one group of channels")
    if node.dtype not in ("f32", "f64"):
        return no(f"Winograd computes with f32 and f64, not {node.dtype}")
    return yes()


def winograd(c: Context, tile: int = 4, strip: int = 12, block: int = 16) -> list[Nest]:
    """The nests; `strip` tiles (about: a divisor of all tiles is taken) share one pass over the transformed weights,
    `block` output channels (at most: a divisor of all) one set of products."""
    plan = _Plan(c, tile, strip, block)
    weights = c.temporary("u", c.dtype, (plan.blocks, plan.points, plan.channels, plan.block))
    return [_transform_weights(plan, weights), _convolve(plan, weights)]


@dataclass(frozen=True)
class _Plan:
    c: Context
    tile: int
    wanted_strip: int
    wanted_block: int

    @property
    def window(self) -> int:
        return self.tile + TAPS - 1

    @property
    def points(self) -> int:
        return self.window**2

    @property
    def batch(self) -> int:
        return self.c.node.shape[0]

    @property
    def channels(self) -> int:
        return self.c.node.inputs[0].shape[1]

    @property
    def rows(self) -> int:
        return -(-self.c.node.shape[2] // self.tile)

    @property
    def columns(self) -> int:
        return -(-self.c.node.shape[3] // self.tile)

    @cached_property
    def strip(self) -> int:
        """The divisor of the number of tiles nearest to the wanted strip."""
        tiles = self.rows * self.columns
        return min(_divisors(tiles), key=lambda d: (abs(log(d / self.wanted_strip)), d))

    @cached_property
    def block(self) -> int:
        return max(d for d in _divisors(self.c.node.shape[1]) if d <= self.wanted_block)

    @property
    def blocks(self) -> int:
        return self.c.node.shape[1] // self.block

    @cached_property
    def matrices(self) -> tuple[Matrix, Matrix, Matrix]:
        return transforms(self.tile)

    def corner(self, strip: Loop, within: Loop) -> tuple[Index, Index]:
        """The first output row and column of a tile."""
        s, q = as_index(strip), as_index(within)
        if self.columns % self.strip == 0:  # several strips make a row of tiles: steps within one are plain
            per_row = self.columns // self.strip
            row, column = s // per_row, (s % per_row) * self.strip + q
        else:
            row, column = (s * self.strip + q) // self.columns, (s * self.strip + q) % self.columns
        return row * self.tile, column * self.tile


def _transform_weights(plan: _Plan, target: Buffer) -> Nest:
    """U = G·w·Gᵀ"""
    c, n = plan.c, plan.window
    g = plan.matrices[1]
    ob, oi, ic = parallel("ob", plan.blocks), parallel("oi", plan.block), parallel("ic", plan.channels)
    oc = as_index(ob) * plan.block + as_index(oi)
    half = c.scratch("half", c.dtype, (n, TAPS))
    body = [
        store(half, (i, kw), _sum(g[i], [c.read(1, oc, ic, kh, kw) for kh in range(TAPS)]))
        for i in range(n)
        for kw in range(TAPS)
    ]
    body += [
        store(target, (ob, i * n + j, ic, oi), _sum(g[j], [_at(half, i, kw) for kw in range(TAPS)]))
        for i in range(n)
        for j in range(n)
    ]
    return c.nest((ob, oi, ic), *body, scratch=(half,), suffix="weights")


def _convolve(plan: _Plan, weights: Buffer) -> Nest:
    c = plan.c
    n, s = parallel("n", plan.batch), parallel("s", plan.rows * plan.columns // plan.strip)
    v = c.scratch("v", c.dtype, (plan.points, plan.strip, plan.channels))
    ob = parallel("ob", plan.blocks)
    m = c.scratch("m", c.dtype, (plan.points, plan.strip, plan.block))
    acc = c.scratch("acc", c.dtype)
    xi, q, oi = parallel("xi", plan.points), parallel("q", plan.strip), parallel("oi", plan.block)
    k = reducing("k", plan.channels)
    left, right = (as_index(i) for i in (xi, q)), (as_index(i) for i in (ob, xi, k, oi))
    summed = accumulate(acc, (k,), Load(v, (*left, as_index(k))), Load(weights, tuple(right)))
    products = Nest((xi, q, oi), (*summed, store(m, (xi, q, oi), value_of(acc))), (acc,))
    outputs = _inverse(plan, m, n, s, ob)
    return c.nest((n, s), _transform_input(plan, n, s, v), Nest((ob,), (products, outputs), (m,)), scratch=(v,))


def _transform_input(plan: _Plan, n: Loop, s: Loop, target: Buffer) -> Nest:
    """V = Bᵀ·x·B for each tile of the strip and each channel"""
    c, size = plan.c, plan.window
    bt = plan.matrices[2]
    p, ic = parallel("p", plan.strip), parallel("ic", plan.channels)
    top, left = plan.corner(s, p)
    (above, _), (before, _) = c.node.attrs["padding"]
    height, width = c.node.inputs[0].shape[2:]
    d, half = c.scratch("d", c.dtype, (size, size)), c.scratch("bd", c.dtype, (size, size))
    body: list[Store] = []
    for j in range(size):
        for i in range(size):
            row, column = top + (i - above), left + (j - before)
            pixel = guarded(c.read(0, n, ic, row, column), inside((row, height), (column, width)), 0)
            body.append(store(d, (i, j), pixel))
        mixed = _product(bt, [_at(d, i, j) for i in range(size)])
        body += [store(half, (i, j), value) for i, value in enumerate(mixed)]
    for i in range(size):
        mixed = _product(bt, [_at(half, i, j) for j in range(size)])
        body += [store(target, (i * size + j, p, ic), value) for j, value in enumerate(mixed)]
    return Nest((p, ic), tuple(body), (d, half))


def _inverse(plan: _Plan, m: Buffer, n: Loop, s: Loop, ob: Loop) -> Nest:
    """y = Aᵀ·M·A + bias for each tile of the strip and each channel of the block; what hangs over is not written"""
    c, size = plan.c, plan.window
    at = plan.matrices[0]
    r, oj = parallel("r", plan.strip), parallel("oj", plan.block)
    top, left = plan.corner(s, r)
    oc = as_index(ob) * plan.block + as_index(oj)
    half, tile = c.scratch("am", c.dtype, (plan.tile, size)), c.scratch("y", c.dtype, (plan.tile, plan.tile))
    body: list[Store | Nest] = []
    for j in range(size):
        column = [Load(m, (index_of(i * size + j), as_index(r), as_index(oj))) for i in range(size)]
        body += [store(half, (i, j), value) for i, value in enumerate(_product(at, column))]
    for i in range(plan.tile):
        mixed = _product(at, [_at(half, i, k) for k in range(size)])
        body += [store(tile, (i, j), value) for j, value in enumerate(mixed)]
    ti, tj = parallel("ti", plan.tile), parallel("tj", plan.tile)
    value: Expr = Load(tile, (as_index(ti), as_index(tj)))
    if len(c.node.inputs) == 3:
        value = apply("add", value, c.read(2, oc))
    row, column_ = top + as_index(ti), left + as_index(tj)
    height, width = c.node.shape[2:]
    written = store(c.out, (n, oc, row, column_), value)
    body.append(Nest((ti, tj), (replace(written, guards=inside((row, height), (column_, width))),)))
    return Nest((r, oj), tuple(body), (half, tile))


# ---- the transforms --------------------------------------------------------------------------------------------------


def transforms(tile: int) -> tuple[Matrix, Matrix, Matrix]:
    """Aᵀ (tile×n), G (n×3) and Bᵀ (n×n) of Toom and Cook over `POINTS[tile]` and infinity."""
    points = POINTS[tile]
    one, zero = Fraction(1), Fraction(0)
    at = [[*(p**i for p in points), one if i == tile - 1 else zero] for i in range(tile)]
    g = []
    bt = []
    for point in points:
        others = [p for p in points if p != point]
        scale = reduce(lambda product, p: product * (point - p), others, one)
        g.append([point**i / scale for i in range(TAPS)])
        bt.append([*_with_roots(others), zero])
    g.append([zero] * (TAPS - 1) + [one])
    bt.append(_with_roots(points))
    return at, g, bt


def _with_roots(roots: Sequence[Fraction]) -> list[Fraction]:
    """The polynomial Π (x - root), constant term first."""
    polynomial = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *polynomial]
        polynomial = [a - root * b for a, b in zip(shifted, [*polynomial, Fraction(0)])]
    return polynomial


def _product(matrix: Matrix, values: Sequence[Expr]) -> list[Expr]:
    """matrix·values. Two neighbouring rows that differ only in signs (points ±p) share their even and odd halves."""
    results: list[Expr] = []
    while len(results) < len(matrix):
        row = matrix[len(results)]
        mirror = matrix[len(results) + 1] if len(results) + 1 < len(matrix) else None
        if mirror is None or [abs(a) for a in row] != [abs(b) for b in mirror]:
            results.append(_sum(row, values))
            continue
        even = _sum([a if a == b else Fraction(0) for a, b in zip(row, mirror)], values)
        odd = _sum([a if a != b else Fraction(0) for a, b in zip(row, mirror)], values)
        results += [apply("add", even, odd), apply("sub", even, odd)]
    return results


def _sum(row: Row, values: Sequence[Expr]) -> Expr:
    """Σ row·values without the zeros; neighbours of one magnitude are added before they are multiplied, and the last
    coefficient is factored out, so that equal parts of several rows are equal expressions."""
    terms: list[tuple[Fraction, Expr]] = []
    position = 0
    while position < len(row):
        factor, value = row[position], values[position]
        follower = row[position + 1] if position + 1 < len(row) else Fraction(0)
        if factor and abs(follower) == abs(factor):
            value = apply("add" if follower == factor else "sub", value, values[position + 1])
            position += 1
        if factor:
            terms.append((factor, value))
        position += 1
    lead = terms[-1][0]
    total: Expr | None = None
    for factor, value in reversed(terms):
        total = _add(total, factor / lead, value)
    assert total is not None
    return total if lead == 1 else apply("mul", total, Const(float(lead), total.dtype))


def _add(total: Expr | None, factor: Fraction, value: Expr) -> Expr:
    if total is None:
        return value
    if abs(factor) == 1:
        return apply("add" if factor == 1 else "sub", total, value)
    return apply("add", total, apply("mul", value, Const(float(factor), value.dtype)))


def _at(buffer: Buffer, *index: int) -> Expr:
    return Load(buffer, tuple(map(index_of, index)))


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]
