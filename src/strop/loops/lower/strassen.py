"""Strassen's matrix product: rows, columns and the sum are halved, and 7 products of halves make what takes 8 directly.

    U[i] = ±W11 ± W12 ± W21 ± W22                  # seven combinations of the weight's quarters: computed once
    for each strip of row pairs (r, r + half):
      V[i] = ±X11 ± X12 ± X21 ± X22                # per pair and half of the sum
      for each block of column pairs:
        for each product i: M[i] = V[i]·U[i]       # all tiles of the strip, the weights of a product stay near
        y = ±M[i] … + bias                         # four results per pair of rows and of columns

Another algorithm for `linear` and for 1×1 convolutions, not the one that lowering takes by itself: scheduling chooses
it where it pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node
from strop.loops.index import index_of
from strop.loops.ir import Buffer, Expr, Load, Loop, Nest, Store
from strop.loops.lower import Context, as_index, store
from strop.loops.lower.contractions import accumulate, inside, parallel, reducing, value_of
from strop.loops.lower.pointwise import apply
from strop.loops.lower.products import Sizes, is_product, row_place, sizes_of

#: of the quarters 11, 12, 21, 22 of the left factor, one row per product
LEFT = ((1, 0, 0, 1), (0, 0, 1, 1), (1, 0, 0, 0), (0, 0, 0, 1), (1, 1, 0, 0), (-1, 0, 1, 0), (0, 1, 0, -1))
#: of those of the right factor
RIGHT = ((1, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, -1), (-1, 0, 1, 0), (0, 0, 0, 1), (1, 1, 0, 0), (0, 0, 1, 1))
#: of the products, one row per quarter of the result
RESULT = ((1, 0, 0, 1, -1, 0, 1), (0, 0, 1, 0, 1, 0, 0), (0, 1, 0, 1, 0, 0, 0), (1, -1, 1, 0, 0, 1, 0))
PRODUCTS = len(LEFT)


def strassen_applies(node: Node) -> Verdict:
    """Whether an operator can be computed this way, and why not."""
    product = is_product(node)
    if not product:
        return product
    sizes = sizes_of(node)
    if sizes.depth % 2 or sizes.columns % 2:
        return no(f"Strassen's product halves the sum and the columns: {sizes.depth} and {sizes.columns}")
    return yes()


def strassen(c: Context, strip: int, rows: int, block: int) -> list[Nest]:
    """The nests. `strip` times `rows` pairs of rows share a pass over the weights, `rows` of them and `block` pairs of
    columns a set of products."""
    plan = _StrassenProduct(c, sizes_of(c.node), strip, rows, block)
    weights = c.temporary("u", c.dtype, (plan.blocks, PRODUCTS, plan.depth, block))
    return [_combine_weights(plan, weights), _multiply(plan, weights)]


@dataclass(frozen=True)
class _StrassenProduct:
    c: Context
    sizes: Sizes
    strip: int
    rows: int
    block: int

    @property
    def strips(self) -> int:
        return -(-self.sizes.rows // (2 * self.strip * self.rows))

    @property
    def together(self) -> int:
        """Pairs of rows of a strip."""
        return self.strip * self.rows

    @property
    def half(self) -> int:
        """Pairs of rows."""
        return self.strips * self.strip * self.rows

    @property
    def depth(self) -> int:
        return self.sizes.depth // 2

    @property
    def columns(self) -> int:
        return self.sizes.columns // 2

    @property
    def blocks(self) -> int:
        return self.columns // self.block


def _combine_weights(plan: _StrassenProduct, target: Buffer) -> Nest:
    """W is the right factor turned: its rows are columns of the result."""
    c = plan.c
    ob, k, oi = parallel("ob", plan.blocks), parallel("k", plan.depth), parallel("oi", plan.block)
    column = as_index(ob) * plan.block + as_index(oi)
    taps = (0,) * (len(c.node.inputs[1].shape) - 2)
    quarters = [
        c.read(1, column + j * plan.columns, as_index(k) + i * plan.depth, *taps) for i in (0, 1) for j in (0, 1)
    ]
    body = [store(target, (ob, i, k, oi), _combined(row, quarters)) for i, row in enumerate(RIGHT)]
    return c.nest((ob, oi, k), *body, suffix="weights")


def _multiply(plan: _StrassenProduct, weights: Buffer) -> Nest:
    """One product after the other for all tiles of a strip: its weights stay where they are found fast."""
    c = plan.c
    s, ob = parallel("s", plan.strips), parallel("ob", plan.blocks)
    xi, g = parallel("xi", PRODUCTS), parallel("g", plan.strip)
    v = c.scratch("v", c.dtype, (PRODUCTS, plan.strip, plan.rows, plan.depth))
    m = c.scratch("m", c.dtype, (PRODUCTS, plan.together, plan.block))
    acc = c.scratch("acc", c.dtype)
    q, oi, k = parallel("q", plan.rows), parallel("oi", plan.block), reducing("k", plan.depth)
    left, right = Load(v, tuple(map(as_index, (xi, g, q, k)))), Load(weights, tuple(map(as_index, (ob, xi, k, oi))))
    made = store(m, (xi, as_index(g) * plan.rows + as_index(q), oi), value_of(acc))
    tile = Nest((q, oi), (*accumulate(acc, (k,), left, right), made), (acc,))
    each = Nest((ob,), (Nest((xi, g), (tile,)), _results(plan, m, s, ob)), (m,))
    return c.nest((s,), _combine_rows(plan, s, v), each, scratch=(v,))


def _combine_rows(plan: _StrassenProduct, s: Loop, target: Buffer) -> Nest:
    c = plan.c
    f, p, ic = parallel("f", plan.strip), parallel("p", plan.rows), parallel("ic", plan.depth)
    pair = (as_index(s) * plan.strip + as_index(f)) * plan.rows + as_index(p)
    quarters = [
        c.read(0, *row_place(c.node, row, as_index(ic) + j * plan.depth, read=True))
        for row in (pair, (pair + plan.half) % plan.sizes.rows)  # what hangs over is read from the front, in vain
        for j in (0, 1)
    ]
    body = [store(target, (i, f, p, ic), _combined(row, quarters)) for i, row in enumerate(LEFT)]
    return Nest((f, p, ic), tuple(body))


def _results(plan: _StrassenProduct, m: Buffer, s: Loop, ob: Loop) -> Nest:
    c = plan.c
    r, oj = parallel("r", plan.together), parallel("oj", plan.block)
    ti, tj = parallel("ti", 2), parallel("tj", 2)
    pair = as_index(s) * plan.together + as_index(r)
    column = as_index(ob) * plan.block + as_index(oj) + as_index(tj) * plan.columns
    row = pair + as_index(ti) * plan.half
    tile = c.scratch("y", c.dtype, (2, 2))
    products = [Load(m, (index_of(i), as_index(r), as_index(oj))) for i in range(PRODUCTS)]
    body: list[Store | Nest] = [store(tile, divmod(i, 2), _combined(signs, products)) for i, signs in enumerate(RESULT)]
    value: Expr = Load(tile, (as_index(ti), as_index(tj)))
    if len(c.node.inputs) == 3:
        value = apply("add", value, c.read(2, column))
    guards = inside((row, plan.sizes.rows))
    body.append(Nest((ti, tj), (replace(store(c.out, row_place(c.node, row, column), value), guards=guards),)))
    return Nest((r, oj), tuple(body), (tile,))


def _combined(signs: Sequence[int], values: Sequence[Expr]) -> Expr:
    """Σ ±value; what is added goes first."""
    terms = sorted(((sign, i) for i, sign in enumerate(signs) if sign), reverse=True)
    total = values[terms[0][1]]
    for sign, i in terms[1:]:
        total = apply("add" if sign > 0 else "sub", total, values[i])
    return total
