"""Matrix products of pairs: two terms of a sum cost one multiplication and additions, which other units do meanwhile.

    (x0 + w1)·(x1 + w0) = x0·w0 + x1·w1  +  x0·x1  +  w0·w1

What is too much is a sum per row and a sum per column: the first is taken while the row is scaled, the second once. Of
six terms two are a pair that is added, two a pair (of differences) that is subtracted, so that what is too much stays
small, and two are products as ever: four multiply-adds and four additions for six terms, which a core with units of
both kinds does in the time of four. Long sums are made in sections, each of which takes back what it adds too much.

    U[k], size[n], over[n] = W/size, size, Σ ∓w·w   # per column, once
    for each share of columns and each strip of rows:
      V[k], size[r], over[r] = X/size, size, Σ ∓x·x # per row
      for each block of the share:
        acc = over[n] + over[r]
        acc += (v0 + u1)·(v1 + u0) + v2·u2 - (u4 - v3)·(u3 - v4) + v5·u5
        y = acc·size[n]·size[r] + bias

Rows and columns are divided by a power of two, their largest element's: sums of numbers of one size lose no digits. The
k-th terms of six equal parts of the sum stand together, so that everything is read in vectors.

Another algorithm for `linear` and for 1×1 convolutions, not the one that lowering takes by itself: scheduling chooses
it where it pays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from strop.loops.index import Index, index_of
from strop.loops.ir import Apply, Buffer, Const, Expr, Load, Loop, Nest, Store
from strop.loops.lower import Context, as_index, store, zero
from strop.loops.lower.concat_pad import guarded
from strop.loops.lower.contractions import inside, parallel, reducing, value_of
from strop.loops.lower.pointwise import apply
from strop.loops.lower.products import Sizes, row_place, sizes_of

PARTS = 6  # of a block of the sum: a pair that is added, a product, a pair that is subtracted, a product
PLUS, MINUS, ALONE = (0, 1), (3, 4), (2, 5)
EXPONENTS = {"f32": "i32", "f64": "i64"}


def winograd_inner_product(
    c: Context, strip: int, rows: int, block: int, depth: int, shares: int = 1, stepwise: bool = False
) -> list[Nest]:
    """The nests. `strip` times `rows` rows are scaled at a time, once for each of `shares` equal parts of the columns;
    `rows` of them, `block` columns and `depth` sixes of terms make a tile. Scaled rows lie one after the other, or with
    `stepwise` as a tile reads them, step by step, which prefetchers follow and scaling writes element by element."""
    sizes = sizes_of(c.node)
    plan = _InnerProduct(c, sizes, strip, rows, block, min(depth, sizes.depth), shares, stepwise)
    weights = c.temporary("u", c.dtype, (plan.blocks, plan.sections, plan.depth, PARTS, block))
    size = c.temporary("size", c.dtype, (plan.sizes.columns,))
    over = c.temporary("over", c.dtype, (plan.sections, plan.sizes.columns))
    return [_scale_weights(plan, weights, size, over), _multiply(plan, weights, size, over)]


@dataclass(frozen=True)
class _InnerProduct:
    c: Context
    sizes: Sizes
    strip: int
    rows: int
    block: int
    depth: int
    shares: int
    stepwise: bool

    @property
    def strips(self) -> int:
        return -(-self.sizes.rows // self.together)

    @property
    def together(self) -> int:
        """Rows of a strip."""
        return self.strip * self.rows

    @property
    def sections(self) -> int:
        """Parts of the sum whose weights stay in L1."""
        return -(-self.sizes.depth // (PARTS * self.depth))

    @property
    def blocks(self) -> int:
        return self.sizes.columns // self.block

    @property
    def scaled(self) -> tuple[int, ...]:
        """The shape of scaled rows."""
        steps = (self.depth, PARTS, self.rows) if self.stepwise else (self.rows, PARTS, self.depth)
        return self.strip, self.sections, *steps

    def place(self, tile: Index, section: Index, row: Index, part: int, step: Index) -> tuple[Index, ...]:
        """Where a term of a scaled row lies."""
        inside = (step, index_of(part), row) if self.stepwise else (row, index_of(part), step)
        return tile, section, *inside

    @property
    def short(self) -> list[int]:
        """How many terms each part of the last section lacks: it starts as many earlier, at terms that others have."""
        ends = ((self.sections - 1) * PARTS * self.depth + (part + 1) * self.depth for part in range(PARTS))
        return [max(end - self.sizes.depth, 0) for end in ends]


def _scale_weights(plan: _InnerProduct, target: Buffer, size: Buffer, over: Buffer) -> Nest:
    """W is the right factor turned: its rows are columns of the result."""
    c, n = plan.c, parallel("n", plan.sizes.columns)
    taps = (index_of(0),) * (len(c.node.inputs[1].shape) - 2)
    block, lane = as_index(n) // plan.block, as_index(n) % plan.block

    def term(k: Index) -> Expr:
        return c.read(1, n, k, *taps)

    def place(section: Index, j: Index, part: int) -> Cell:
        return Cell(target, (block, section, j, index_of(part), lane))

    def too_much(section: Index) -> Cell:
        return Cell(over, (section, as_index(n)))

    column = _Row(plan, term, place, Cell(size, (as_index(n),)), too_much, once=True)
    return c.nest((n,), *column.passes(), scratch=column.scratch, suffix="weights")


def _scale_rows(plan: _InnerProduct, s: Index, target: Buffer, size: Buffer, over: Buffer) -> Nest:
    c = plan.c
    f, p = parallel("f", plan.strip), parallel("p", plan.rows)
    row = as_index(f) * plan.rows + as_index(p)
    here = (s * plan.together + row) % plan.sizes.rows  # what hangs over is read from the front, in vain

    def term(k: Index) -> Expr:
        return c.read(0, *row_place(c.node, here, k, read=True))

    def place(section: Index, j: Index, part: int) -> Cell:
        return Cell(target, plan.place(as_index(f), section, as_index(p), part, j))

    def too_much(section: Index) -> Cell:
        return Cell(over, (row, section))

    line = _Row(plan, term, place, Cell(size, (row,)), too_much)
    return Nest((f, p), tuple(line.passes()), tuple(line.scratch))


def _multiply(plan: _InnerProduct, weights: Buffer, size: Buffer, over: Buffer) -> Nest:
    made = _Products(plan, weights, size, over)
    scale = _scale_rows(plan, made.strip, made.v, made.row_size, made.row_over)
    products = made.at_once() if plan.sections == 1 else made.in_sections()
    return plan.c.nest((made.s,), scale, products, scratch=(made.v, made.row_size, made.row_over))


class _Products:
    """Tiles of the result, from rows and columns that are scaled."""

    def __init__(self, plan: _InnerProduct, weights: Buffer, size: Buffer, over: Buffer) -> None:
        c, self.plan, self.weights, self.size, self.over = plan.c, plan, weights, size, over
        self.s, self.ob = parallel("s", plan.strips * plan.shares), parallel("ob", plan.blocks // plan.shares)
        share, self.strip = as_index(self.s) // plan.strips, as_index(self.s) % plan.strips
        self.at = share * (plan.blocks // plan.shares) + as_index(self.ob)
        self.v = c.scratch("v", c.dtype, plan.scaled)
        self.row_size = c.scratch("rs", c.dtype, (plan.together,))
        self.row_over = c.scratch("ro", c.dtype, (plan.together, plan.sections))
        self.acc = c.scratch("acc", c.dtype)

    def at_once(self) -> Nest:
        """The whole sum of a tile in registers."""
        g, q, oi = self._tile()
        value = self._result(self._row(g, q), oi, value_of(self.acc))
        return Nest((self.ob, g), (Nest((q, oi), (*self._sum(g, q, oi, index_of(0)), value), (self.acc,)),))

    def in_sections(self) -> Nest:
        """Sections of the sum one after the other, each for all tiles of a strip: its weights stay in L1."""
        plan = self.plan
        m = plan.c.scratch("m", plan.c.dtype, (plan.together, plan.block))
        r, oj = parallel("r", plan.together), parallel("oj", plan.block)
        begin = Nest((r, oj), (store(m, (r, oj), zero(m.dtype)),))
        b = reducing("b", plan.sections)
        g, q, oi = self._tile()
        add = store(m, (self._row(g, q), oi), value_of(self.acc), "sum")
        tile = Nest((q, oi), (*self._sum(g, q, oi, as_index(b)), add), (self.acc,))
        e, ok = parallel("e", plan.together), parallel("ok", plan.block)
        finish = Nest((e, ok), (self._result(as_index(e), ok, Load(m, (as_index(e), as_index(ok)))),))
        return Nest((self.ob,), (begin, Nest((b, g), (tile,)), finish), (m,))

    def _tile(self) -> tuple[Loop, Loop, Loop]:
        """Tiles of a strip, rows and columns of a tile."""
        return parallel("g", self.plan.strip), parallel("q", self.plan.rows), parallel("oi", self.plan.block)

    def _row(self, g: Loop, q: Loop) -> Index:
        return as_index(g) * self.plan.rows + as_index(q)

    def _column(self, oi: Loop) -> Index:
        return self.at * self.plan.block + as_index(oi)

    def _sum(self, g: Loop, q: Loop, oi: Loop, section: Index) -> tuple[Store, Nest]:
        t = reducing("t", self.plan.depth)
        column = (self.at, section, as_index(t))
        x = [
            Load(self.v, self.plan.place(as_index(g), section, as_index(q), part, as_index(t))) for part in range(PARTS)
        ]
        w = [Load(self.weights, (*column, index_of(part), as_index(oi))) for part in range(PARTS)]
        too_much = (
            Load(self.over, (section, self._column(oi))),
            Load(self.row_over, (self._row(g, q), section)),
        )
        return store(self.acc, (), apply("add", *too_much)), Nest((t,), _steps(self.acc, x, w))

    def _result(self, row: Index, oi: Loop, total: Expr) -> Store:
        """A row of the strip, as the result has it."""
        plan, column, whole = self.plan, self._column(oi), self.strip * self.plan.together + row
        value = apply("mul", apply("mul", total, Load(self.size, (column,))), Load(self.row_size, (row,)))
        if len(plan.c.node.inputs) == 3:
            value = apply("add", value, plan.c.read(2, column))
        made = store(plan.c.out, row_place(plan.c.node, whole, column), value)
        return replace(made, guards=inside((whole, plan.sizes.rows)))


def _steps(acc: Buffer, x: list[Load], w: list[Load]) -> tuple[Store, ...]:
    """Six terms of the sum by four multiplications."""
    (a, b), (c, d), (e, f) = PLUS, MINUS, ALONE
    return (
        store(acc, (), apply("mul", apply("add", w[b], x[a]), apply("add", w[a], x[b])), "sum"),
        store(acc, (), apply("mul", w[e], x[e]), "sum"),
        store(acc, (), apply("mul", apply("neg", apply("sub", w[d], x[c])), apply("sub", w[c], x[d])), "sum"),
        store(acc, (), apply("mul", w[f], x[f]), "sum"),
    )


@dataclass(frozen=True)
class Cell:
    """An element of a buffer."""

    buffer: Buffer
    index: tuple[Index, ...]

    def set(self, value: Expr) -> Store:
        return Store(self.buffer, self.index, value)


class _Row:
    """A row or a column of a product: its size, its terms divided by that, and what pairs of them are too much.

    Where the last parts lack terms, they repeat some: a row as they are, a column, which has every term `once`, as 0.
    """

    def __init__(
        self,
        plan: _InnerProduct,
        term: Callable[[Index], Expr],
        place: Callable[[Index, Index, int], Cell],
        size: Cell,
        over: Callable[[Index], Cell],
        once: bool = False,
    ) -> None:
        c, dtype = plan.c, plan.c.dtype
        self.plan, self.term, self.place, self.size, self.over = plan, term, place, size, over
        self.once = once
        self.top = c.scratch("top", EXPONENTS[dtype])
        self.shrink, self.total, self.largest = (c.scratch(n, dtype) for n in ("shrink", "total", "largest"))
        self.scratch = [self.top, self.shrink, self.largest]

    def passes(self) -> list[Store | Nest]:
        dtype = self.total.dtype
        return [
            store(self.top, (), Const(0, self.top.dtype)),
            self._look(),
            store(self.largest, (), Apply("power_of_two", (value_of(self.top),), dtype)),
            self.size.set(value_of(self.largest)),
            store(self.shrink, (), apply("reciprocal", value_of(self.largest))),
            *self._divide(),
        ]

    def _look(self) -> Nest:
        k = reducing("k", self.plan.sizes.depth)
        top = Apply("exponent", (self.term(as_index(k)),), self.top.dtype)
        return Nest((k,), (store(self.top, (), top, "max"),))

    def _divide(self) -> list[Nest]:
        """All sections alike, or the last one, whose parts lack terms, by itself."""
        plan, j = self.plan, reducing("j", self.plan.depth)
        if not any(plan.short):
            i = parallel("i", plan.sections)
            return [self._section((i,), as_index(i), j, [0] * PARTS)]
        i, last = parallel("i", plan.sections - 1), reducing("l", plan.depth)
        whole = [self._section((i,), as_index(i), j, [0] * PARTS)] if i.extent else []
        return [*whole, self._section((), index_of(plan.sections - 1), last, plan.short)]

    def _section(self, loops: tuple[Loop, ...], section: Index, j: Loop, short: Sequence[int]) -> Nest:
        terms = []
        for part, (less, before) in enumerate(zip(short, (0, *short))):
            term = self.term((section * PARTS + part) * self.plan.depth + as_index(j) - less)
            fresh = inside((as_index(j) - (less - before), self.plan.depth))
            terms.append(guarded(term, fresh, 0) if self.once else term)
        scaled = [apply("mul", term, value_of(self.shrink)) for term in terms]
        plus, minus = ([scaled[part] for part in pair] for pair in (PLUS, MINUS))
        too_much = apply("sub", apply("mul", *minus), apply("mul", *plus))
        stores = [self.place(section, as_index(j), part).set(value) for part, value in enumerate(scaled)]
        divide = Nest((j,), (*stores, store(self.total, (), too_much, "sum")))
        start = store(self.total, (), zero(self.total.dtype))
        return Nest(loops, (start, divide, self.over(section).set(value_of(self.total))), (self.total,))
