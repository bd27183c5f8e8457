"""The kernels as loop nests: what is read, computed and written, in the plainest form.

Every kernel works on a matrix of rows. Norms pass over a row several times while it is in cache; pointwise kernels keep
what they need twice (a sigmoid, a tanh) in a row of scratch, so that it is computed once and in vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import pi, sqrt

from strop.loops.index import Index, Var, index_of
from strop.loops.ir import Apply, Buffer, Const, Expr, Load, Loop, Nest, Store
from strop.loops.lower import store
from strop.loops.lower.pointwise import apply
from strop.loops.lower.reductions import at, fold
from strop.loops.lowered import Lowered

#: kernel → what makes its nests from the number of rows and columns (and numbers such as eps)
KERNELS: dict[str, Callable[..., Lowered]] = {}


def kernel(function: Callable[..., Lowered]) -> Callable[..., Lowered]:
    KERNELS[function.__name__] = function
    return function


def add(a: Expr, b: Expr) -> Expr:
    return apply("add", a, b)


def sub(a: Expr, b: Expr) -> Expr:
    return apply("sub", a, b)


def mul(*factors: Expr) -> Expr:
    product = factors[0]
    for factor in factors[1:]:
        product = apply("mul", product, factor)
    return product


def number(value: float) -> Expr:
    return Const(value, "f32")


@dataclass
class Rows:
    """A matrix of `count` rows of `length` numbers, walked row by row in passes."""

    count: int
    length: int
    inputs: list[Buffer] = field(default_factory=list)
    outputs: list[Buffer] = field(default_factory=list)
    nests: list[Nest] = field(default_factory=list)
    _passes: int = 0

    def __post_init__(self) -> None:
        self.row = Loop(Var("i", self.count))

    def matrix(self, name: str) -> Buffer:
        return self._input(name, (self.count, self.length))

    def vector(self, name: str) -> Buffer:
        """One number per column, such as a weight."""
        return self._input(name, (self.length,))

    def column(self, name: str) -> Buffer:
        """One number per row, such as a norm's scale."""
        return self._input(name, (self.count,))

    def _input(self, name: str, shape: tuple[int, ...]) -> Buffer:
        self.inputs.append(Buffer(name, "f32", shape, "input"))
        return self.inputs[-1]

    def out(self, name: str, *shape: int) -> Buffer:
        self.outputs.append(Buffer(name, "f32", shape or (self.count, self.length), "output"))
        return self.outputs[-1]

    def scratch(self, name: str, *shape: int) -> Buffer:
        return Buffer(name, "f32", shape, "scratch")

    def walk(self, kind: str = "parallel") -> Loop:
        """A loop along the row for one more pass."""
        self._passes += 1
        return Loop(Var(f"j{self._passes}", self.length), kind)

    def here(self, buffer: Buffer, along: Loop) -> Load:
        return at(buffer, self.row, along)

    def total(self, acc: Buffer, value: Callable[[Loop], Expr]) -> tuple[Store | Nest, ...]:
        """A sum over the row."""
        along = self.walk("reduce")
        return fold(acc, (along,), value(along), "sum")

    def write(self, *stores: Callable[[Loop], Store]) -> Nest:
        """A pass that stores one or more values per element."""
        along = self.walk()
        return Nest((along,), tuple(one(along) for one in stores))

    def per_row(self, name: str, *body: Store | Nest, scratch: Sequence[Buffer] = ()) -> None:
        self.nests.append(Nest((self.row,), body, tuple(scratch), name, note=name))

    def per_column(self, name: str, value: Callable[[Loop, Loop], Expr], target: Buffer) -> None:
        """target[j] = Σ over rows: the gradient of a weight."""
        column, row = Loop(Var("c", self.length)), Loop(Var("r", self.count), "reduce")
        acc = self.scratch("acc")
        body = (*fold(acc, (row,), value(row, column), "sum"), store(target, (column,), at(acc)))
        self.nests.append(Nest((column,), body, (acc,), name, note=name))

    def lowered(self) -> Lowered:
        return Lowered(tuple(self.nests), tuple(self.inputs), (), tuple(self.outputs), {})


# ---- norms -----------------------------------------------------------------------------------------------------------


def _scaled(weight: Expr, offset: float) -> Expr:
    return add(weight, number(offset)) if offset else weight


@kernel
def rms_norm(count: int, length: int, eps: float, offset: float) -> Lowered:
    """x·r·(w + offset), r = 1/√(mean x² + eps); r is kept for the way back."""
    rows = Rows(count, length)
    x, w = rows.matrix("x"), rows.vector("w")
    y, scale = rows.out("y"), rows.out("scale", count)
    total, r = rows.scratch("total"), rows.scratch("r")
    squares = rows.total(total, lambda j: mul(rows.here(x, j), rows.here(x, j)))
    mean = apply("div", at(total), number(float(length)))
    result = rows.write(
        lambda j: store(y, (rows.row, j), mul(rows.here(x, j), at(r), _scaled(at(w, j), offset))),
    )
    keep = store(scale, (rows.row,), at(r))
    finish = store(r, (), apply("rsqrt", add(mean, number(eps))))
    rows.per_row("rms_norm", *squares, finish, keep, result, scratch=[total, r])
    return rows.lowered()


@kernel
def rms_norm_backward(count: int, length: int, offset: float, weighted: bool) -> Lowered:
    """dx = r·(g·w − x·r²·mean(g·w·x)) and, if the weight wants a gradient, dw = Σ g·x·r."""
    rows = Rows(count, length)
    g, x, w, scale = rows.matrix("g"), rows.matrix("x"), rows.vector("w"), rows.column("scale")
    dx = rows.out("dx")
    total, r, factor = rows.scratch("total"), rows.scratch("r"), rows.scratch("factor")
    gw = rows.scratch("gw", length)
    along = rows.walk("reduce")
    product = mul(rows.here(g, along), _scaled(at(w, along), offset))
    start = store(total, (), number(0.0))
    dot = Nest(
        (along,),
        (store(gw, (along,), product), store(total, (), mul(at(gw, along), rows.here(x, along)), "sum")),
    )
    load = store(r, (), at(scale, rows.row))
    mean = mul(at(total), at(r), at(r), number(1.0 / length))
    result = rows.write(
        lambda j: store(dx, (rows.row, j), mul(sub(at(gw, j), mul(rows.here(x, j), at(factor))), at(r)))
    )
    body = (start, dot, load, store(factor, (), mean), result)
    rows.per_row("rms_norm_backward", *body, scratch=[total, r, factor, gw])
    if weighted:
        rows.per_column(
            "rms_norm_weight",
            lambda row, column: mul(at(g, row, column), at(x, row, column), at(scale, row)),
            rows.out("dw", length),
        )
    return rows.lowered()


# ---- dropped weights of attention ------------------------------------------------------------------------------------


def _kept(rows: Rows) -> Buffer:
    rows.inputs.append(Buffer("kept", "bool", (rows.count, rows.length), "input"))
    return rows.inputs[-1]


@kernel
def dropped(count: int, length: int, factor: float) -> Lowered:
    """w·factor where kept, else 0."""
    rows = Rows(count, length)
    w, kept, y = rows.matrix("w"), _kept(rows), rows.out("y")

    def value(j: Loop) -> Expr:
        return Apply("where", (rows.here(kept, j), mul(rows.here(w, j), number(factor)), number(0.0)), "f32")

    rows.per_row("dropped", rows.write(lambda j: store(y, (rows.row, j), value(j))))
    return rows.lowered()


@kernel
def dropped_softmax_backward(count: int, length: int, factor: float) -> Lowered:
    """d = g·factor where kept; ds = w·(d − Σ d·w): the way back through dropout and softmax in one pass over a row."""
    rows = Rows(count, length)
    g, kept, w = rows.matrix("g"), _kept(rows), rows.matrix("w")
    ds = rows.out("ds")
    total, d = rows.scratch("total"), rows.scratch("d", length)
    along = rows.walk("reduce")
    back = Apply("where", (rows.here(kept, along), mul(rows.here(g, along), number(factor)), number(0.0)), "f32")
    dot = Nest(
        (along,),
        (store(d, (along,), mul(back, rows.here(w, along))), store(total, (), at(d, along), "sum")),
    )
    result = rows.write(lambda j: store(ds, (rows.row, j), sub(at(d, j), mul(rows.here(w, j), at(total)))))
    rows.per_row("dropped_softmax_backward", store(total, (), number(0.0)), dot, result, scratch=[total, d])
    return rows.lowered()


# ---- rotary embedding ------------------------------------------------------------------------------------------------


@kernel
def rotary(
    batch: int, outer: int, inner: int, half: int, batches: int, by_inner: bool, pairs: bool, back: bool
) -> Lowered:
    """x·cos + turned(x)·sin of x[batch, outer, inner, 2·half]; positions are the inner or the outer dimension.

    `turned` swaps the halves of a row, or with `pairs` its neighbours, the first one negated. cos and sin are [batches,
    positions, 2·half] with one batch or as many as x. The way back is the transpose: g·cos plus g·sin swapped, the
    second one negated.
    """
    positions = inner if by_inner else outer
    x = Buffer("x", "f32", (batch, outer, inner, 2 * half), "input")
    cos, sin = (Buffer(name, "f32", (batches, positions, 2 * half), "input") for name in ("cos", "sin"))
    y = Buffer("y", "f32", x.shape, "output")
    b, o, i, j = (Loop(Var(name, n)) for name, n in (("b", batch), ("o", outer), ("i", inner), ("j", half)))
    low = index_of(j.var) * 2 if pairs else index_of(j.var)
    high = low + (1 if pairs else half)

    def angle(table: Buffer, at_: Index) -> Expr:
        return at(table, b if batches > 1 else 0, i if by_inner else o, at_)

    first, second = at(x, b, o, i, low), at(x, b, o, i, high)
    turned = (
        (add(mul(first, angle(cos, low)), mul(second, angle(sin, high))),
         sub(mul(second, angle(cos, high)), mul(first, angle(sin, low))))
        if back
        else (sub(mul(first, angle(cos, low)), mul(second, angle(sin, low))),
              add(mul(second, angle(cos, high)), mul(first, angle(sin, high))))
    )  # fmt: skip
    body = Nest((j,), (store(y, (b, o, i, low), turned[0]), store(y, (b, o, i, high), turned[1])))
    nest = Nest((b, o, i), (body,), (), "rotary", note="rotary embedding")
    return Lowered((nest,), (x, cos, sin), (), (y,), {})


# ---- activations and gates -------------------------------------------------------------------------------------------

_ROOT = sqrt(2.0 / pi)
_CUBIC = 0.044715


@dataclass(frozen=True)
class ActivationNests:
    """f(x) = x·h(x), from one expensive function: `inner` of x, then h and f' from x and its value t.

    f alone may have a function of its own, `whole`, which costs less.
    """

    inner: Callable[[Expr], Expr]
    factor: Callable[[Expr, Expr], Expr]
    slope: Callable[[Expr, Expr], Expr]
    whole: str = ""

    def value(self, x: Expr) -> Expr:
        return apply(self.whole, x) if self.whole else mul(x, self.factor(x, self.inner(x)))


def _logistic(steepness: float, whole: str = "") -> ActivationNests:
    """x·σ(kx), whose slope is σ + k·x·σ·(1 − σ)."""

    def inner(x: Expr) -> Expr:
        return apply("sigmoid", mul(x, number(steepness)) if steepness != 1 else x)

    def slope(x: Expr, s: Expr) -> Expr:
        return mul(s, add(mul(x, number(steepness), sub(number(1.0), s)), number(1.0)))

    return ActivationNests(inner, lambda x, s: s, slope, whole)


def _tanh_slope(x: Expr, t: Expr) -> Expr:
    bend = mul(number(0.5 * _ROOT), x, sub(number(1.0), mul(t, t)), add(mul(x, x, number(3 * _CUBIC)), number(1.0)))
    return add(mul(number(0.5), add(t, number(1.0))), bend)


def _erf_slope(x: Expr, t: Expr) -> Expr:
    density = mul(apply("exp_nonpositive", mul(number(-0.5), x, x)), number(1.0 / sqrt(2.0 * pi)), x)
    return add(mul(number(0.5), add(t, number(1.0))), density)


ACTIVATIONS = {
    "silu": _logistic(1.0, "silu"),
    "quick_gelu": _logistic(1.702),
    "gelu_tanh": ActivationNests(
        lambda x: apply("tanh", mul(number(_ROOT), x, add(mul(x, x, number(_CUBIC)), number(1.0)))),
        lambda x, t: mul(number(0.5), add(t, number(1.0))),
        _tanh_slope,
        "gelu_tanh",
    ),
    "gelu": ActivationNests(
        lambda x: apply("erf", mul(x, number(sqrt(0.5)))),
        lambda x, t: mul(number(0.5), add(t, number(1.0))),
        _erf_slope,
        "gelu",
    ),
}


@kernel
def activation(count: int, length: int, name: str) -> Lowered:
    rows, f = Rows(count, length), ACTIVATIONS[name]
    x, y = rows.matrix("x"), rows.out("y")
    rows.per_row(name, rows.write(lambda j: store(y, (rows.row, j), f.value(rows.here(x, j)))))
    return rows.lowered()


@kernel
def activation_backward(count: int, length: int, name: str) -> Lowered:
    rows, f = Rows(count, length), ACTIVATIONS[name]
    g, x, dx = rows.matrix("g"), rows.matrix("x"), rows.out("dx")
    t = rows.scratch("t", length)
    rows.per_row(
        name,
        rows.write(lambda j: store(t, (j,), f.inner(rows.here(x, j)))),
        rows.write(lambda j: store(dx, (rows.row, j), mul(rows.here(g, j), f.slope(rows.here(x, j), at(t, j))))),
        scratch=[t],
    )
    return rows.lowered()


@kernel
def gate(count: int, length: int, name: str) -> Lowered:
    """f(a)·b."""
    rows, f = Rows(count, length), ACTIVATIONS[name]
    a, b, y = rows.matrix("a"), rows.matrix("b"), rows.out("y")
    rows.per_row(name, rows.write(lambda j: store(y, (rows.row, j), mul(f.value(rows.here(a, j)), rows.here(b, j)))))
    return rows.lowered()


@kernel
def gate_backward(count: int, length: int, name: str) -> Lowered:
    """da = g·b·f'(a), db = g·f(a)."""
    rows, f = Rows(count, length), ACTIVATIONS[name]
    g, a, b = rows.matrix("g"), rows.matrix("a"), rows.matrix("b")
    da, db = rows.out("da"), rows.out("db")
    t = rows.scratch("t", length)

    def first(j: Loop) -> Expr:
        return mul(rows.here(g, j), rows.here(b, j), f.slope(rows.here(a, j), at(t, j)))

    def second(j: Loop) -> Expr:
        return mul(rows.here(g, j), rows.here(a, j), f.factor(rows.here(a, j), at(t, j)))

    rows.per_row(
        name,
        rows.write(lambda j: store(t, (j,), f.inner(rows.here(a, j)))),
        rows.write(lambda j: store(da, (rows.row, j), first(j)), lambda j: store(db, (rows.row, j), second(j))),
        scratch=[t],
    )
    return rows.lowered()
