"""The cross-entropy of a linear layer's rows, block by block: only the logits of one block exist at a time.

    for each block of rows i:                                        # nests of their own, in this order
      logits[i, v] = Σ_k x[i, k]·weight[v, k] + bias[v]
      loss[i], logsumexp[i], logits[i, v] = …, scale·exp(logits[i, v] - logsumexp[i])
      logits[i, label[i]] -= scale
      dx[i, k] = Σ_v logits[i, v]·weight[v, k]
      dweight[v, k] += Σ_i logits[i, v]·x[i, k]
      dbias[v] += Σ_i logits[i, v]

A block's rows are copied to one place, and its results from one place, so that blocks share their code: offsets into
tensors of all rows would make a function of every block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from strop.core.extents import is_number
from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node
from strop.loops.index import Index, Var, indirect
from strop.loops.ir import Buffer, Const, Expr, Loop, Nest, Store
from strop.loops.lower import Context, as_index, lowering, store, zero
from strop.loops.lower.contractions import accumulate, parallel, reducing, value_of
from strop.loops.lower.pointwise import apply
from strop.loops.lower.reductions import at, fold

CHUNK = 128  # words whose part of the gradient of x is summed up at a time
PANEL = 64  # words whose weights are turned at a time: a copy of all of them would take as much memory as they do
#: inputs of both operators, and what follows them in the gradients'
X, WEIGHT, LABELS = range(3)
LOGSUMEXP, SCALE = 3, 4


def _lowerable(node: Node) -> Verdict:
    x, labels = node.inputs[X], node.inputs[LABELS]
    if x.dtype not in ("f32", "f64"):
        return no(f"`{node.op}` computes with f32 and f64, not {x.dtype}")
    if labels.dtype not in ("i32", "i64"):
        return no(f"labels of dtype {labels.dtype} are no positions")
    if not is_number(x.shape[0]):
        return no(f"{x.shape[0]} rows do not tell how many blocks there are")
    return yes()


@lowering("linear_cross_entropy", check=_lowerable)
def linear_cross_entropy(c: Context) -> list[Nest]:
    loss, total, logsumexp, *gradients = c.outs
    rows = RowBlocks(c, bias=3, gradients=gradients)
    losses = c.temporary("losses", c.dtype, logsumexp.shape)
    nests = [_counted(c, total)]
    scale = apply("reciprocal", at(total)) if c.node.attrs["mean"] else Const(1.0, c.dtype)
    for number, (first, count) in enumerate(rows.blocks):
        block = RowBlock(rows, number, first, count)
        nests += [block.given_rows(), block.given_labels(scale), *block.logits(), block.softmax()]
        nests += [block.handed_over((losses, rows.loss), (logsumexp, rows.logsumexp)), *block.gradients()]
    i, acc = reducing("i", losses.shape[0]), c.scratch("acc", c.dtype)
    mean = apply("div", at(acc), at(total)) if c.node.attrs["mean"] else at(acc)
    return [*nests, c.nest((), *fold(acc, (i,), at(losses, i), "sum"), store(loss, (), mean), scratch=[acc])]


@lowering("linear_cross_entropy_backward", check=_lowerable)
def linear_cross_entropy_backward(c: Context) -> list[Nest]:
    rows = RowBlocks(c, bias=5, gradients=c.outs)
    nests: list[Nest] = []
    for number, (first, count) in enumerate(rows.blocks):
        block = RowBlock(rows, number, first, count)
        nests += [block.given_rows(), block.given_labels(c.read(SCALE)), *block.probabilities(), *block.gradients()]
    return nests


def _counted(c: Context, total: Buffer) -> Nest:
    """How many rows have a label that is not to be ignored."""
    i, acc = reducing("i", c.node.inputs[LABELS].shape[0]), c.scratch("acc", c.dtype)
    one = apply("where", _ignored(c, as_index(i)), zero(c.dtype), Const(1.0, c.dtype))
    return c.nest((), *fold(acc, (i,), one, "sum"), store(total, (), at(acc)), scratch=[acc], suffix="count")


def _ignored(c: Context, row: Index) -> Expr:
    label = c.read(LABELS, row)
    return apply("eq", label, Const(c.node.attrs["ignore_index"], label.dtype))


class RowBlocks:
    """The rows in blocks, and the memory that one block after the other uses."""

    def __init__(self, c: Context, bias: int, gradients: Sequence[Buffer]) -> None:
        self.c = c
        self.bias = bias if len(c.node.inputs) > bias else None
        self.results = dict(zip(c.node.attrs["gradients"], gradients))
        self.count, self.width = c.node.inputs[X].shape
        self.words = c.node.inputs[WEIGHT].shape[0]
        self.most = min(int(c.node.attrs["rows"]), self.count)
        self.labels = c.temporary("block.labels", c.node.inputs[LABELS].dtype, (self.most,))
        self.scale, self.loss, self.logsumexp = (
            c.temporary(f"block.{name}", c.dtype, (self.most,)) for name in ("scale", "loss", "logsumexp")
        )
        self.x, self.dx = (c.temporary(f"block.{name}", c.dtype, (self.most, self.width)) for name in ("x", "dx"))
        self.g = c.temporary("block.logits", c.dtype, (self.most, self.words))

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """The first row and the number of rows of each."""
        return [(first, min(self.most, self.count - first)) for first in range(0, self.count, self.most)]


class RowBlock:
    """The nests of one block."""

    def __init__(self, rows: RowBlocks, number: int, first: int, count: int) -> None:
        self.rows, self.c, self.number, self.first, self.count = rows, rows.c, number, first, count
        self.x, self.dx, self.g = rows.x, rows.dx, rows.g

    def _nest(self, suffix: str, loops: Sequence[Loop], *body: Store | Nest, scratch: Sequence[Buffer] = ()) -> Nest:
        return self.c.nest(loops, *body, scratch=scratch, suffix=f"{suffix}{self.number}")

    def given_rows(self) -> Nest:
        i, k = parallel("i", self.count), parallel("k", self.rows.width)
        return self._nest("rows", (i, k), store(self.x, (i, k), self.c.read(X, as_index(i) + self.first, k)))

    def given_labels(self, scale: Expr) -> Nest:
        """The first word stands for a label that is to be ignored, and nothing of it counts."""
        i = parallel("i", self.count)
        row = as_index(i) + self.first
        ignored, label = _ignored(self.c, row), self.c.read(LABELS, row)
        stores = [
            store(self.rows.labels, (i,), apply("where", ignored, zero(label.dtype), label)),
            store(self.rows.scale, (i,), apply("where", ignored, zero(self.c.dtype), scale)),
        ]
        if self.c.node.op == "linear_cross_entropy_backward":
            stores.append(store(self.rows.logsumexp, (i,), self.c.read(LOGSUMEXP, row)))
        return self._nest("labels", (i,), *stores)

    def _products(self, result: Callable[[Loop, Index, Expr], Expr]) -> list[Nest]:
        """All logits, or what is made of each: some words after the other, whose weights are turned for the rows."""
        whole, rest = divmod(self.rows.words, PANEL)
        made = [self._product("", 0, whole, PANEL, result)] if whole else []
        return [*made, self._product("rest", whole * PANEL, 1, rest, result)] if rest else made

    def _product(
        self, mark: str, first: int, panels: int, words: int, result: Callable[[Loop, Index, Expr], Expr]
    ) -> Nest:
        rows, width = self.rows, self.rows.width
        t, i, v, w = parallel("t", panels), parallel("i", self.count), parallel("v", words), parallel("w", words)
        k, turned = reducing("k", width), parallel("d", width)
        acc, panel = self.c.scratch("acc", self.c.dtype), self.c.scratch("panel", self.c.dtype, (width, words))
        start = as_index(t) * words + first
        value, word = value_of(acc), start + as_index(v)
        if rows.bias is not None:
            value = apply("add", value, self.c.read(rows.bias, word))
        weight = self.c.read(WEIGHT, start + as_index(w), turned)
        turn = Nest((turned, w), (store(panel, (turned, w), weight),))
        sums = accumulate(acc, (k,), at(self.x, i, k), at(panel, k, v))
        product = Nest((i, v), (*sums, store(self.g, (i, word), result(i, word, value))), (acc,))
        return self._nest(f"logits{mark}", (t,), turn, product, scratch=[panel])

    def logits(self) -> list[Nest]:
        return self._products(lambda i, word, value: value)

    def softmax(self) -> Nest:
        """Loss and logarithm of each row; where gradients are wanted, the logits become those of the logits."""
        c, rows, g = self.c, self.rows, self.g
        i = parallel("i", self.count)
        top, total, logarithm, chosen = (c.scratch(name, c.dtype) for name in ("top", "total", "logarithm", "chosen"))
        largest, each, every = reducing("m", rows.words), reducing("e", rows.words), parallel("w", rows.words)
        power = apply("exp_nonpositive", apply("sub", at(g, i, each), at(top)))
        label = indirect(at(rows.labels, i), rows.words)
        # log Σ - (x - top), not (top + log Σ) - x: the difference is exact where it matters, near the top
        loss = apply("sub", at(logarithm), apply("sub", at(chosen), at(top)))
        counted = apply("ne", at(rows.scale, i), zero(c.dtype))
        body: list[Store | Nest] = [
            *fold(top, (largest,), at(g, i, largest), "max"),
            store(chosen, (), at(g, i, label)),
        ]
        if rows.results:
            body += [
                store(total, (), zero(c.dtype)),
                Nest((each,), (store(g, (i, each), power), store(total, (), at(g, i, each), "sum"))),
                Nest((every,), (store(g, (i, every), apply("mul", at(g, i, every), self._share(i, total))),)),
                store(g, (i, label), apply("neg", at(rows.scale, i)), "sum"),
            ]
        else:
            body += fold(total, (each,), power, "sum")
        body += [
            store(logarithm, (), apply("log", at(total))),
            store(rows.logsumexp, (i,), apply("add", at(top), at(logarithm))),
            store(rows.loss, (i,), apply("where", counted, loss, zero(c.dtype))),
        ]
        return self._nest("softmax", (i,), *body, scratch=[top, total, logarithm, chosen])

    def _share(self, i: Loop, total: Buffer) -> Expr:
        return apply("div", at(self.rows.scale, i), at(total))

    def handed_over(self, *pairs: tuple[Buffer, Buffer]) -> Nest:
        """What a block has computed for each row, copied to the results of all rows."""
        i = parallel("i", self.count)
        stores = [store(whole, (as_index(i) + self.first,), at(part, i)) for whole, part in pairs]
        return self._nest("results", (i,), *stores)

    def probabilities(self) -> list[Nest]:
        """Scaled, and computed from logarithms that are known."""

        def scaled(i: Loop, word: Index, value: Expr) -> Expr:
            exponent = apply("sub", value, at(self.rows.logsumexp, i))
            power = apply("exp_nonpositive", apply("minimum", exponent, zero(self.c.dtype)))  # rounding may exceed 0
            return apply("mul", power, at(self.rows.scale, i))

        return self._products(scaled)

    def gradients(self) -> list[Nest]:
        results = self.rows.results
        made: list[Nest] = []
        if self.c.node.op == "linear_cross_entropy_backward":
            made.append(self._without_labels())
        if "x" in results:
            made += self._of_x(results["x"])
        if "weight" in results:
            made.append(self._of_weight(results["weight"]))
        if "bias" in results:
            made.append(self._of_bias(results["bias"]))
        return made

    def _without_labels(self) -> Nest:
        i = parallel("i", self.count)
        label = indirect(at(self.rows.labels, i), self.rows.words)
        return self._nest("targets", (i,), store(self.g, (i, label), apply("neg", at(self.rows.scale, i)), "sum"))

    def _of_x(self, dx: Buffer) -> list[Nest]:
        """Some words after the other: rows of the weight are read in the order in which they lie, while L2 holds what
        they are summed up in."""
        i, k = parallel("i", self.count), parallel("k", self.rows.width)
        whole, rest = divmod(self.rows.words, CHUNK)
        body: list[Store | Nest] = [Nest((i, k), (store(self.dx, (i, k), zero(self.c.dtype)),))]
        if whole:
            body.append(self._of_words("w", 0, whole, CHUNK))
        if rest:
            body.append(self._of_words("r", whole * CHUNK, 1, rest))
        product = self._nest("dx", (), *body)
        return [product, self._nest("out", (i, k), store(dx, (as_index(i) + self.first, k), at(self.dx, i, k)))]

    def _of_words(self, mark: str, first: int, chunks: int, words: int) -> Nest:
        t = Loop(Var(f"t{mark}", chunks), "sequential")
        i, k = parallel(f"i{mark}", self.count), parallel(f"k{mark}", self.rows.width)
        v = reducing(f"v{mark}", words)
        word = as_index(t) * words + first + as_index(v)
        acc = self.c.scratch(f"acc{mark}", self.c.dtype)
        sums = accumulate(acc, (v,), at(self.g, i, word), self.c.read(WEIGHT, word, k))
        return Nest((t,), (Nest((i, k), (*sums, store(self.dx, (i, k), value_of(acc), "sum")), (acc,)),))

    def _of_weight(self, dweight: Buffer) -> Nest:
        v, k, i = parallel("v", self.rows.words), parallel("k", self.rows.width), reducing("i", self.count)
        acc = self.c.scratch("acc", self.c.dtype)
        sums = accumulate(acc, (i,), at(self.g, i, v), at(self.x, i, k))
        return self._nest("dw", (v, k), *sums, self._added(dweight, (v, k), acc), scratch=[acc])

    def _of_bias(self, dbias: Buffer) -> Nest:
        v, i = parallel("v", self.rows.words), reducing("i", self.count)
        acc = self.c.scratch("acc", self.c.dtype)
        sums = fold(acc, (i,), at(self.g, i, v), "sum")
        return self._nest("db", (v,), *sums, self._added(dbias, (v,), acc), scratch=[acc])

    def _added(self, target: Buffer, place: Sequence[Loop], acc: Buffer) -> Store:
        """The first block begins what the others add to."""
        return store(target, place, value_of(acc), "sum" if self.number else None)
