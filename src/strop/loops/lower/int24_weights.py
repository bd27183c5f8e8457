"""Weights in three quarters of their memory, for matrices that multiply one vector.

Such a matrix is used as fast as a cache or memory gives it, which takes longer than multiplying. So its weights are
whole numbers of 24 bits, in units of their column's largest. Of four vectors of them three lie in 32 bits each, whose
lowest 8 bits are those of the fourth:

    a | high of d       b | middle of d       c | low of d

    for each block of columns:
      for k:
        s0, s1, s2 += f32(a)·x[k], f32(b)·x[k], f32(c)·x[k]     # as they are
        s3         += f32(join(a, b, c))·x[k]
      y = s·size

What the lowest bits add to a, b and c is known when those are rounded, so it costs no accuracy: a weight is off by less
than 2⁻²³ of the largest of its column, which is what sums in f32 are off by, too.

Where making numbers takes longer than reading, some vectors of a block stay as they are: those need only be read.

What comes from far away comes faster in several streams: a step of the loop reads a row of each quarter of the block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from strop.loops.index import ZERO, Index, index_of
from strop.loops.ir import Apply, Buffer, Const, Expr, Load, Loop, Nest, Store
from strop.loops.lower import Context, as_index, store, zero
from strop.loops.lower.concat_pad import guarded
from strop.loops.lower.contractions import inside, parallel, reducing, value_of
from strop.loops.lower.pointwise import apply, cast
from strop.loops.lower.products import row_place, sizes_of

HELD, MADE = 3, 4  # vectors that lie in memory, and those that are made of them
LARGEST = 2.0**31 - 2.0**10  # of the whole numbers, far enough from the end for rounding
SMALLEST = 2.0**-126  # of the units of columns: a normal number, as dividing by it has to be exact


@dataclass(frozen=True)
class Int24Weights:
    """A block is `sets` times four vectors of `lanes` columns, and `plain` ones whose weights are as they were.

    With `last` a last block that is not full is computed by itself, so that others need no guards. Weights are read in
    as many `streams`, side by side.
    """

    lanes: int
    sets: int
    plain: int = 0
    last: bool = False
    streams: int = 1

    @property
    def made(self) -> int:
        """Vectors of 24 bits."""
        return MADE * self.sets

    @property
    def vectors(self) -> int:
        return self.made + self.plain

    @property
    def block(self) -> int:
        return self.vectors * self.lanes

    def __str__(self) -> str:
        some = f"{self.made} of {self.vectors} " if self.plain else ""
        streams = f" in {self.streams} streams" if self.streams > 1 else ""
        return f"{some}weights of 24 bits, {self.block} columns at a time{streams}"

    def matrix(self, c: Context, name: str, gates: int, units: int, depth: int) -> Matrix:
        """A matrix of `gates` times `units` columns; blocks hold all gates of some units."""
        if self.vectors % gates:
            raise ValueError(f"{self.vectors} vectors are no whole number of units of {gates} gates")
        blocks = -(-units // (self.block // gates))
        rows = (self.streams, blocks, depth // self.streams)
        held = c.temporary(f"{name}.bits", "i32", (*rows, self.sets, HELD, self.lanes))
        rest = (c.temporary(f"{name}.rest", "f32", (*rows, self.plain, self.lanes)),) if self.plain else ()
        return Matrix(c, self, name, gates, units, held, rest, c.temporary(f"{name}.size", "f32", (gates * units,)))


Weight = Callable[[Index, Index], Expr]
Finish = Callable[[Index, Sequence[Expr]], tuple[Sequence[Store], Sequence[Buffer]]]


@dataclass(frozen=True)
class Matrix:
    c: Context
    shape: Int24Weights
    name: str
    gates: int
    units: int
    held: Buffer
    rest: tuple[Buffer, ...]  # with vectors that are as they were, if there are any
    size: Buffer

    @property
    def blocks(self) -> int:
        return self.held.shape[1]

    @property
    def depth(self) -> int:
        return self.held.shape[0] * self.held.shape[2]

    def _row(self, block: Index, k: Index) -> tuple[Index, Index, Index]:
        """Where a row of a block lies: a stream has its rows of all blocks one after the other."""
        steps = self.held.shape[2]
        return k // steps, block, k % steps

    @property
    def together(self) -> int:
        """Units of a block."""
        return self.shape.block // self.gates

    def prepare(self, weight: Weight) -> list[Nest]:
        """The nests that make it of weights by column and row."""
        return [self._sizes(weight), self._bits(weight), *(self._rest(weight, rest) for rest in self.rest)]

    def _sizes(self, weight: Weight) -> Nest:
        n, k = parallel("n", self.gates * self.units), reducing("k", self.depth)
        top = self.c.scratch("top", "f32")
        look = store(top, (), apply("abs", weight(as_index(n), as_index(k))), "max")
        held = apply("maximum", value_of(top), Const(SMALLEST * LARGEST, "f32"))
        unit = apply("mul", held, Const(1 / LARGEST, "f32"))
        none = apply("eq", value_of(top), zero("f32"))
        size = Apply("where", (none, zero("f32"), unit), "f32")
        body = (store(top, (), zero("f32")), Nest((k,), (look,)), store(self.size, (n,), size))
        return self.c.nest((n,), *body, scratch=(top,), suffix=f"{self.name}.size")

    def _bits(self, weight: Weight) -> Nest:
        o, k, i = parallel("o", self.blocks), parallel("k", self.depth), parallel("l", self.shape.lanes)
        row = self._row(as_index(o), as_index(k))
        body = []
        for s in range(self.shape.sets):
            *three, last = (self._whole(weight, o, k, i, MADE * s + vector) for vector in range(MADE))
            last = apply("add", last, _whole(128))
            for vector, number in enumerate(three):
                low = apply("and", apply("shr", last, _whole(24 - 8 * vector)), _whole(255))
                near = apply("and", apply("add", apply("sub", number, low), _whole(128)), _whole(-256))
                body.append(store(self.held, (*row, s, vector, i), apply("add", near, low)))
        return self.c.nest((o, k, i), *body, suffix=f"{self.name}.bits")

    def _whole(self, weight: Weight, o: Loop, k: Loop, i: Loop, vector: int) -> Expr:
        """A weight in units of its column's largest; 0 past the last column."""
        unit, n = self._column(as_index(o), i, vector)
        value = apply("div", weight(n, as_index(k)), Load(self.size, (n,)))
        return cast(guarded(value, inside((unit, self.units)), 0.0), "i32")

    def _rest(self, weight: Weight, rest: Buffer) -> Nest:
        o, k, i = parallel("o", self.blocks), parallel("k", self.depth), parallel("l", self.shape.lanes)
        row = self._row(as_index(o), as_index(k))
        body = []
        for vector in range(self.shape.plain):
            unit, n = self._column(as_index(o), i, self.shape.made + vector)
            value = guarded(weight(n, as_index(k)), inside((unit, self.units)), 0.0)
            body.append(store(rest, (*row, vector, i), value))
        return self.c.nest((o, k, i), *body, suffix=f"{self.name}.rest")

    def _place(self, vector: int) -> tuple[int, int]:
        """A vector's gate, and its first unit within the block."""
        gate, part = divmod(vector, self.shape.vectors // self.gates)
        return gate, part * self.shape.lanes

    def _column(self, block: Index, i: Loop, vector: int) -> tuple[Index, Index]:
        """The unit and the column of a vector's lane."""
        gate, first = self._place(vector)
        unit = block * self.together + first + as_index(i)
        return unit, unit + gate * self.units

    def walk(self, x: Callable[[Index], Expr], finish: Finish, mark: str = "") -> list[Nest]:
        """Its product with the vector x, maybe in two parts."""
        whole = self.units // self.together
        if not self.shape.last or whole in (0, self.blocks):
            return [self.times(x, finish, mark)]
        last = range(whole, self.blocks)
        return [self.times(x, finish, mark, range(whole)), self.times(x, finish, f"{mark}z", last)]

    def times(self, x: Callable[[Index], Expr], finish: Finish, mark: str = "", part: range | None = None) -> Nest:
        """Its product with the vector x; `finish` makes statements of the totals of a unit's gates."""
        part = range(self.blocks) if part is None else part
        o, i = parallel(f"o{mark}", len(part)), parallel(f"l{mark}", self.shape.lanes)
        k = reducing(f"k{mark}", self.depth // self.shape.streams)
        block = as_index(o) + part.start
        sums = self.c.scratch(f"sums{mark}", "f32", (self.gates, self.together))
        accs = [self.c.scratch(f"acc{mark}{number}", "f32") for number in range(self.shape.vectors)]
        steps = []
        for row in (as_index(k) + stream * k.extent for stream in range(self.shape.streams)):
            read = self._read(self._row(block, row), as_index(i))
            steps += [store(acc, (), apply("mul", one, x(row)), "sum") for acc, one in zip(accs, read)]
        keep = []
        for number, acc in enumerate(accs):
            gate, first = self._place(number)
            keep.append(store(sums, (gate, as_index(i) + first), self._total(block, i, number, value_of(acc))))
        starts = [store(acc, (), zero("f32")) for acc in accs]
        multiply = Nest((i,), (*starts, Nest((k,), tuple(steps)), *keep), tuple(accs))
        e = parallel(f"e{mark}", self.together)
        return Nest((o,), (multiply, self._finish(block, e, sums, finish)), (sums,))

    def _read(self, here: tuple[Index, ...], i: Index) -> Iterator[Expr]:
        """What a block's vectors are multiplied by."""
        for s in range(self.shape.sets):
            held = [Load(self.held, (*here, index_of(s), index_of(vector), i)) for vector in range(HELD)]
            yield from (cast(one, "f32") for one in (*held, apply("join", *held)))
        for rest in self.rest:
            yield from (Load(rest, (*here, index_of(vector), i)) for vector in range(self.shape.plain))

    def _total(self, block: Index, i: Loop, vector: int, total: Expr) -> Expr:
        """A sum of what was read as a sum of weights."""
        if vector >= self.shape.made:
            return total
        unit, n = self._column(block, i, vector)
        return apply("mul", total, guarded(Load(self.size, (n,)), inside((unit, self.units)), 0.0))

    def _finish(self, block: Index, e: Loop, sums: Buffer, finish: Finish) -> Nest:
        unit = block * self.together + as_index(e)
        totals = [Load(sums, (index_of(gate), as_index(e))) for gate in range(self.gates)]
        stores, scratch = finish(unit, totals)
        there = inside((unit, self.units))
        made = (replace(one, value=guarded(one.value, there, 0.0), guards=(*one.guards, *there)) for one in stores)
        return Nest((e,), tuple(made), tuple(scratch))


def int24_product(c: Context, shape: Int24Weights) -> list[Nest]:
    """A matrix product with one row."""
    sizes = sizes_of(c.node)
    matrix = shape.matrix(c, "w", 1, sizes.columns, sizes.depth)
    taps = (ZERO,) * (len(c.node.inputs[1].shape) - 2)

    def finish(n: Index, totals: Sequence[Expr]) -> tuple[Sequence[Store], Sequence[Buffer]]:
        total = totals[0] if len(c.node.inputs) == 2 else apply("add", totals[0], c.read(2, n))
        return [store(c.out, row_place(c.node, ZERO, n), total)], ()

    product = matrix.times(lambda k: c.read(0, *row_place(c.node, ZERO, k, read=True)), finish)
    nests = matrix.prepare(lambda n, k: c.read(1, n, k, *taps))
    return [*nests, c.nest(product.loops, *product.body, scratch=product.scratch)]


def _whole(value: int) -> Const:
    return Const(value, "i32")
