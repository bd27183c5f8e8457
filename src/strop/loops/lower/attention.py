"""Attention, its row statistics for training, and its gradients. No nest writes the scores to memory beyond scratch.

The gradients are made from blocks of query rows, whose scores are computed again:

    parallel b0, b1:                                        # each head
      sequential t:                                         # each block of query rows i
        p[i, s]  = exp(scale·Σ_e q[i, e]·k[s, e] - logsumexp[i])
        ds[i, s] = scale·p[i, s]·(Σ_e dout[i, e]·v[s, e] - Σ_e dout[i, e]·out[i, e])
        dq[i, e] = Σ_s ds[i, s]·k[s, e]
        dk[s, e] += Σ_i ds[i, s]·q[i, e]
        dv[s, e] += Σ_i p[i, s]·dout[i, e]
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt

from strop.core.dtypes import SIZES
from strop.core.extents import Extent, Shape, is_number
from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node
from strop.loops.index import ZERO, Index, Var
from strop.loops.ir import Buffer, Const, Expr, Load, Loop, Nest, Number, Store
from strop.loops.lower import Context, as_index, lowering, store, zero
from strop.loops.lower.contractions import accumulate, parallel, reducing, stretched, value_of
from strop.loops.lower.pointwise import apply, broadcast, cast
from strop.loops.lower.reductions import at

MOST_ROWS = 64  # query rows of a block of the gradients; each block reads and writes all of dk and dv
SCRATCH_BYTES = 512 * 1024  # of a block's scores and their gradients, which have to stay in L2

#: inputs of `attention_backward`
DOUT, Q, K, V, OUT, LOGSUMEXP, MASK = range(7)


def _attendable(node: Node) -> Verdict:
    if node.types[0].dtype not in ("f32", "f64"):
        return no(f"attention computes with f32 and f64, not {node.types[0].dtype}")
    return yes()


@lowering("attention", check=_attendable)
def attention(c: Context) -> list[Nest]:
    """One row of scores per query stays in scratch: scores, their largest, exponentials and their sum, times V.

    A row in which nothing may be attended to gives zeros, as eager does.
    """
    return [_forward(c, None)]


@lowering("attention_forward", check=_attendable)
def attention_forward(c: Context) -> list[Nest]:
    """A row in which nothing may be attended to has the logarithm 0, as in eager: its probabilities come out as 0."""
    return [_forward(c, c.outs[1])]


def _forward(c: Context, logsumexp: Buffer | None) -> Nest:
    q, k = c.node.inputs[0].shape, c.node.inputs[1].shape
    batch, query = c.loops("b", q[:-2]), parallel("l", q[-2])
    heads = tuple(_head(loop, extent) for loop, extent in zip(batch, _aligned(k, len(batch))))
    acc, high, total, scale, out = (c.scratch(name, c.dtype) for name in ("dot", "high", "total", "scale", "acc"))
    row = c.scratch("row", c.dtype, (k[-2],))

    key, e = parallel("s", k[-2]), reducing("e", q[-1])
    queries = c.read(0, *stretched(batch, q[:-2]), query, e)
    keys = c.read(1, *heads[len(heads) - len(k) + 2 :], key, e)
    score = store(row, (key,), _score(c, value_of(acc), (*batch, query, key), 3))
    scores = Nest((key,), (*accumulate(acc, (e,), queries, keys), score), (acc,))

    largest, each = reducing("sm", k[-2]), reducing("se", k[-2])
    top = value_of(high)
    finite = apply("where", apply("eq", top, Const(-inf, c.dtype)), zero(c.dtype), top)
    exponential = apply("exp_nonpositive", apply("sub", Load(row, (as_index(each),)), top))

    v = c.node.inputs[2].shape
    values = tuple(_head(loop, extent) for loop, extent in zip(batch, _aligned(v, len(batch))))
    column, j = parallel("ev", v[-1]), reducing("j", k[-2])
    weighted = accumulate(
        out, (j,), Load(row, (as_index(j),)), c.read(2, *values[len(values) - len(v) + 2 :], j, column)
    )
    empty = apply("eq", value_of(total), zero(c.dtype))
    inverse = apply("where", empty, zero(c.dtype), apply("reciprocal", value_of(total)))
    result = apply("mul", value_of(out), value_of(scale))
    statistics: list[Store] = []
    if logsumexp is not None:
        logarithm = apply("add", top, apply("log", value_of(total)))
        statistics.append(store(logsumexp, (*batch, query), apply("where", empty, zero(c.dtype), logarithm)))
    return c.nest(
        (*batch, query),
        scores,
        store(high, (), Const(-inf, c.dtype)),
        Nest((largest,), (store(high, (), Load(row, (as_index(largest),)), "max"),)),
        store(high, (), finite),
        store(total, (), zero(c.dtype)),
        Nest((each,), (store(row, (each,), exponential), store(total, (), Load(row, (as_index(each),)), "sum"))),
        store(scale, (), inverse),
        *statistics,
        Nest((column,), (*weighted, store(c.out, (*batch, query, column), result)), (out,)),
        scratch=(row, high, total, scale),
    )


def _aligned(shape: Shape, rank: int) -> Shape:
    """Batch extents of an attention input, filled up with ones at the front."""
    return (*(1 for _ in range(rank - len(shape) + 2)), *shape[:-2])


def _head(loop: Loop, extent: Extent) -> Index:
    """Where a query's batch index reads in keys and values: equal groups of heads share one."""
    return as_index(loop) // (loop.extent // extent) if extent not in (0, 1) else ZERO


def _score(c: Context, dot: Expr, place: Sequence[Loop | Index], mask: int) -> Expr:
    """The score at (batch, query, key) from the product of query and key; input number `mask`, if any, is the mask."""
    given, width = c.node.attrs["scale"], c.node.inputs[0].shape[-1]
    point = tuple(map(as_index, place))
    value = apply("mul", dot, Const(float(given if given is not None else 1 / sqrt(max(width, 1))), c.dtype))
    blocked = Const(-inf, c.dtype)
    if len(c.node.inputs) > mask:
        masked = c.read(mask, *broadcast(c.node, mask, point))
        if masked.dtype == "bool":
            value = apply("where", masked, value, blocked)
        else:
            value = apply("add", value, cast(masked, c.dtype))
    if c.node.attrs["causal"]:
        earlier = apply("le", Number(point[-1], "i64"), Number(point[-2], "i64"))
        value = apply("where", earlier, value, blocked)
    return value


# ---- gradients -------------------------------------------------------------------------------------------------------


def _differentiable(node: Node) -> Verdict:
    for length in (node.inputs[Q].shape[-2], node.inputs[K].shape[-2]):
        if not is_number(length):
            return no(f"a length of {length} does not tell into how many blocks the rows are divided")
    return _attendable(node)


@lowering("attention_backward", check=_differentiable)
def attention_backward(c: Context) -> list[Nest]:
    """One nest for all heads. Its products go by vectors of keys, for which keys and values are transposed before."""
    *batch, keys, width = c.node.inputs[K].shape
    depth = c.node.inputs[V].shape[-1]
    heads = c.loops("b", batch)
    turned: list[Buffer] = []
    transposes: list[Nest] = []
    for name, which, extent in (("keys", K, width), ("values", V, depth)):
        e, s = parallel("e", extent), parallel("s", keys)
        turned.append(c.temporary(name, c.dtype, (*batch, extent, keys)))
        transposes.append(
            c.nest((*heads, e, s), store(turned[-1], (*heads, e, s), c.read(which, *heads, s, e)), suffix=name)
        )
    queries = c.node.inputs[Q].shape[-2]
    rows = rows_of_block(queries, keys, c.dtype)
    whole, rest = divmod(queries, rows)
    blocks = [_QueryRows(c, heads, "", 0, whole, rows).nest(*turned)]
    if rest:
        blocks.append(_QueryRows(c, heads, "r", whole * rows, 1, rest).nest(*turned))
    return [*transposes, c.nest(heads, *(_cleared(c, heads, which) for which in (1, 2)), *blocks)]


def rows_of_block(queries: int, keys: int, dtype: str) -> int:
    """Rows of a block, so that blocks are about equal."""
    most = max(min(MOST_ROWS, SCRATCH_BYTES // (2 * SIZES[dtype] * max(keys, 1))), 1)
    return -(-queries // -(-queries // most))


def _cleared(c: Context, heads: tuple[Loop, ...], which: int) -> Nest:
    """A result that blocks add to."""
    loops = c.loops(f"z{which}", c.outs[which].shape[-2:])
    return Nest(loops, (store(c.outs[which], (*heads, *loops), zero(c.dtype)),))


class _QueryRows:
    """Blocks of `rows` query rows, from row `first` on. A mark tells their loops and scratch from those of others."""

    def __init__(self, c: Context, heads: tuple[Loop, ...], mark: str, first: int, count: int, rows: int) -> None:
        self.c, self.heads, self.mark, self.first, self.rows = c, heads, mark, first, rows
        self.step = Loop(Var(f"t{mark}", count), "sequential")
        self.keys, self.depth = c.node.inputs[V].shape[-2:]
        self.width = c.node.inputs[Q].shape[-1]
        self.p, self.ds = (c.scratch(f"{name}{mark}", c.dtype, (rows, self.keys)) for name in ("p", "ds"))
        self.delta = c.scratch(f"delta{mark}", c.dtype, (rows,))

    def nest(self, turned_keys: Buffer, turned_values: Buffer) -> Nest:
        dq, dk, dv = self.c.outs
        body = (
            self._deltas(),
            self._scores(turned_keys),
            self._score_gradients(turned_values),
            self._query_gradients(dq),
            self._added("dk", dk, self.ds, Q, self.width),
            self._added("dv", dv, self.p, DOUT, self.depth),
        )
        return Nest((self.step,), body, (self.p, self.ds, self.delta))

    def _row(self, i: Loop) -> tuple[Loop | Index, ...]:
        """Where row i of a block lies in a tensor."""
        return (*self.heads, as_index(self.step) * self.rows + self.first + as_index(i))

    def _loops(self, name: str, m: Extent, n: Extent, k: Extent) -> tuple[Loop, Loop, Loop]:
        """Two loops over a product's results, and the one that it sums over."""
        return (
            parallel(f"{name}.m{self.mark}", m), parallel(f"{name}.n{self.mark}", n),
            reducing(f"{name}.k{self.mark}", k),
        )  # fmt: skip

    def _deltas(self) -> Nest:
        """Σ dout·out of a row, which is what the softmax takes from every gradient of its scores."""
        i, e = parallel(f"delta.m{self.mark}", self.rows), reducing(f"delta.k{self.mark}", self.depth)
        acc = self.c.scratch(f"delta.acc{self.mark}", self.c.dtype)
        sums = accumulate(acc, (e,), self.c.read(DOUT, *self._row(i), e), self.c.read(OUT, *self._row(i), e))
        return Nest((i,), (*sums, store(self.delta, (i,), value_of(acc))), (acc,))

    def _scores(self, turned_keys: Buffer) -> Nest:
        c = self.c
        i, s, e = self._loops("p", self.rows, self.keys, self.width)
        acc = c.scratch(f"p.acc{self.mark}", c.dtype)
        products = accumulate(acc, (e,), c.read(Q, *self._row(i), e), at(turned_keys, *self.heads, e, s))
        score = _score(c, value_of(acc), (*self._row(i), s), MASK)
        logarithm = apply("sub", score, c.read(LOGSUMEXP, *self._row(i)))
        value = apply("exp_nonpositive", apply("minimum", logarithm, zero(c.dtype)))  # rounding may make it positive
        return Nest((i, s), (*products, store(self.p, (i, s), value)), (acc,))

    def _score_gradients(self, turned_values: Buffer) -> Nest:
        c = self.c
        i, s, e = self._loops("ds", self.rows, self.keys, self.depth)
        acc = c.scratch(f"ds.acc{self.mark}", c.dtype)
        products = accumulate(acc, (e,), c.read(DOUT, *self._row(i), e), at(turned_values, *self.heads, e, s))
        value = apply("mul", at(self.p, i, s), apply("sub", value_of(acc), at(self.delta, i)))
        scaled = apply("mul", value, Const(float(c.node.attrs["scale"]), c.dtype))
        return Nest((i, s), (*products, store(self.ds, (i, s), scaled)), (acc,))

    def _query_gradients(self, dq: Buffer) -> Nest:
        i, e, s = self._loops("dq", self.rows, self.width, self.keys)
        acc = self.c.scratch(f"dq.acc{self.mark}", self.c.dtype)
        products = accumulate(acc, (s,), at(self.ds, i, s), self.c.read(K, *self.heads, s, e))
        return Nest((i, e), (*products, store(dq, (*self._row(i), e), value_of(acc))), (acc,))

    def _added(self, name: str, target: Buffer, weights: Buffer, which: int, width: Extent) -> Nest:
        """What this block's rows of an input add to a gradient of keys or values."""
        s, e, i = self._loops(name, self.keys, width, self.rows)
        acc = self.c.scratch(f"{name}.acc{self.mark}", self.c.dtype)
        products = accumulate(acc, (i,), at(weights, i, s), self.c.read(which, *self._row(i), e))
        return Nest((s, e), (*products, store(target, (*self.heads, s, e), value_of(acc), "sum")), (acc,))
