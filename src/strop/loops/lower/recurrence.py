"""One direction of one recurrent layer in training: a walk through time that keeps what its gradients need, and the
walk back.

    sequential t in 64:
      scratch g[16, 1024]
      parallel b, j:  g[b, j] = Σ_k states[t, b, k]·w[j, k]
      parallel b, u:  gates[t, b, ·], cells[t+1, b, u], states[t+1, b, u] = …of x[t, b, ·] and g[b, ·]

    sequential t in 64:                                          # from the last time to the first
      parallel b, u:  dx[T-1-t, b, ·], dc[b, u] = …of dh[b, u] + dstates[T-1-t, b, u] and what was kept
      parallel b, k:  dh[b, k] = Σ_j dx[T-1-t, b, j]·w[j, k]

The gradient of the weight is one product over all times, outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node
from strop.loops.index import Index, Var
from strop.loops.ir import Buffer, Const, Expr, Load, Loop, Nest, Store
from strop.loops.lower import Context, as_index, lowering, store
from strop.loops.lower.contractions import accumulate, parallel, reducing, value_of
from strop.loops.lower.pointwise import apply

Place = tuple[Index, Index]


def _checked(node: Node) -> Verdict:
    if node.types[0].dtype not in ("f32", "f64"):
        return no(f"`{node.op}` computes with f32 and f64, not {node.types[0].dtype}")
    return yes()


@dataclass(frozen=True)
class RecurrenceWalk:
    """A walk through time, forth for states or back for gradients, one step at a time."""

    c: Context
    time: int
    batch: int
    units: int
    back: bool = False

    @property
    def cell(self) -> str:
        return str(self.c.node.attrs["cell"])

    def at(self, t: Loop) -> tuple[Index, Index, Index]:
        """The time of a step, and where the states before and after it are."""
        backwards = bool(self.c.node.attrs["backwards"])
        now = as_index(t) * -1 + (self.time - 1) if backwards != self.back else as_index(t)
        return (now, now + 1, now) if backwards else (now, now, now + 1)

    def loop(self) -> Loop:
        return Loop(Var("t", self.time), "sequential")

    def one(self) -> Const:
        return Const(1.0, self.c.dtype)

    def apart(self, factor: Expr) -> Expr:
        """1 - a factor."""
        return apply("sub", self.one(), factor)


class PointValues:
    """Values of one point that several stores use, each in scratch of its own."""

    def __init__(self, c: Context) -> None:
        self.c = c
        self.stores: list[Store] = []
        self.buffers: list[Buffer] = []

    def hold(self, name: str, value: Expr) -> Expr:
        buffer = self.c.scratch(name, self.c.dtype)
        self.buffers.append(buffer)
        self.stores.append(store(buffer, (), value))
        return value_of(buffer)


def product(*factors: Expr) -> Expr:
    made = factors[0]
    for factor in factors[1:]:
        made = apply("mul", made, factor)
    return made


# ---- forth -----------------------------------------------------------------------------------------------------------


@lowering("recurrence", check=_checked)
def recurrence(c: Context) -> list[Nest]:
    time, batch, rows = c.node.inputs[0].shape
    units = c.node.inputs[1].shape[-1]
    walk = RecurrenceWalk(c, time, batch, units)
    count = 2 if walk.cell == "lstm" else 1
    b, u = parallel("b", batch), parallel("u", units)
    first = time if c.node.attrs["backwards"] else 0
    begin = [store(c.outs[kind], (first, b, u), c.read(1 + kind, b, u)) for kind in range(count)]
    t = walk.loop()
    now, old, new = walk.at(t)
    sums = c.scratch("g", c.dtype, (batch, rows))
    b, j, k = parallel("gb", batch), parallel("j", rows), reducing("k", units)
    acc = c.scratch("acc", c.dtype)
    products = accumulate(acc, (k,), Load(c.outs[0], (old, as_index(b), as_index(k))), c.read(1 + count, j, k))
    total = value_of(acc)
    if len(c.node.inputs) > 2 + count:
        total = apply("add", total, c.read(2 + count, j))
    bu, u = parallel("bu", batch), parallel("u", units)
    here = as_index(bu), as_index(u)
    scalars = PointValues(c)
    shown = _FORTH[walk.cell](walk, (now, old, new), here, sums, scalars)
    gated = Nest((bu, u), (*scalars.stores, *shown), tuple(scalars.buffers))
    body = (Nest((b, j), (*products, store(sums, (b, j), total)), (acc,)), gated)
    return [c.nest((parallel("b", batch), parallel("u", units)), *begin, suffix="begin"),
            c.nest((t,), *body, scratch=(sums,), suffix="walk")]  # fmt: skip


def _part(walk: RecurrenceWalk, now: Index, here: Place, sums: Buffer, which: int) -> tuple[Expr, Expr]:
    """A gate's part that comes from the input, and the one from the state."""
    b, u = here
    place = u + which * walk.units
    return walk.c.read(0, now, b, place), Load(sums, (b, place))


def _lstm(
    walk: RecurrenceWalk, times: tuple[Index, Index, Index], here: Place, sums: Buffer, scalars: PointValues
) -> list[Store]:
    (now, old, new), (b, u), outs = times, here, walk.c.outs

    def gate(which: int, function: str) -> Expr:
        value = apply(function, apply("add", *_part(walk, now, here, sums, which)))
        return scalars.hold(f"gate{which}", value)

    i, f, g, o = gate(0, "sigmoid"), gate(1, "sigmoid"), gate(2, "tanh"), gate(3, "sigmoid")
    entering = scalars.hold("entering", apply("mul", i, g))
    c = scalars.hold("c", apply("add", apply("mul", f, Load(outs[1], (old, b, u))), entering))
    return [
        *(store(outs[2], (now, b, u + n * walk.units), value) for n, value in enumerate((i, f, g, o))),
        store(outs[1], (new, b, u), c),
        store(outs[0], (new, b, u), apply("mul", o, apply("tanh", c))),
    ]


def _gru(
    walk: RecurrenceWalk, times: tuple[Index, Index, Index], here: Place, sums: Buffer, scalars: PointValues
) -> list[Store]:
    (now, old, new), (b, u), outs = times, here, walk.c.outs
    r = scalars.hold("r", apply("sigmoid", apply("add", *_part(walk, now, here, sums, 0))))
    z = scalars.hold("z", apply("sigmoid", apply("add", *_part(walk, now, here, sums, 1))))
    given, inner = _part(walk, now, here, sums, 2)
    n = scalars.hold("n", apply("tanh", apply("add", given, apply("mul", r, inner))))
    value = apply("add", product(walk.apart(z), n), product(z, Load(outs[0], (old, b, u))))
    return [
        *(store(outs[1], (now, b, u + m * walk.units), part) for m, part in enumerate((r, z, n, inner))),
        store(outs[0], (new, b, u), value),
    ]


def _plain(
    walk: RecurrenceWalk, times: tuple[Index, Index, Index], here: Place, sums: Buffer, scalars: PointValues
) -> list[Store]:
    (now, _, new), (b, u) = times, here
    whole = apply("add", *_part(walk, now, here, sums, 0))
    value = apply("maximum", whole, Const(0.0, walk.c.dtype)) if walk.cell == "relu" else apply("tanh", whole)
    return [store(walk.c.out, (new, b, u), value)]


_FORTH = {"lstm": _lstm, "gru": _gru, "tanh": _plain, "relu": _plain}


# ---- back ------------------------------------------------------------------------------------------------------------


@lowering("recurrence_backward", check=_checked)
def recurrence_backward(c: Context) -> list[Nest]:
    time, batch, units = c.node.inputs[0].shape
    walk = RecurrenceWalk(c, time, batch, units, back=True)
    b, u = parallel("b", batch), parallel("u", units)
    begin = [store(c.outs[1], (b, u), Const(0.0, c.dtype))]
    if walk.cell == "lstm":
        begin.append(store(c.outs[2], (b, u), c.read(1, b, u)))
    t = walk.loop()
    times = walk.at(t)
    bu, u = parallel("bu", batch), parallel("u", units)
    here = as_index(bu), as_index(u)
    scalars = PointValues(c)
    dh = scalars.hold("dh", apply("add", Load(c.outs[1], here), c.read(0, times[0], *here)))
    beside = c.scratch("beside", c.dtype, (batch, units))
    stores = _BACK[walk.cell](walk, times, here, dh, scalars, beside)
    gated = Nest((bu, u), (*scalars.stores, *stores), tuple(scalars.buffers))
    of_sums = c.outs[-1] if walk.cell == "gru" else c.outs[0]
    b, k, j = parallel("gb", batch), parallel("k", units), reducing("j", of_sums.shape[-1])
    acc = c.scratch("acc", c.dtype)
    weight = len(c.node.inputs) - 1
    products = accumulate(acc, (j,), Load(of_sums, (times[0], as_index(b), as_index(j))), c.read(weight, j, k))
    total = value_of(acc)
    if walk.cell == "gru":
        total = apply("add", total, Load(beside, (as_index(b), as_index(k))))
    body = (gated, Nest((b, k), (*products, store(c.outs[1], (b, k), total)), (acc,)))
    scratch = (beside,) if walk.cell == "gru" else ()
    return [c.nest((parallel("b", batch), parallel("u", units)), *begin, suffix="begin"),
            c.nest((t,), *body, scratch=scratch, suffix="walk")]  # fmt: skip


def _of_lstm(
    walk: RecurrenceWalk, times: tuple[Index, Index, Index], here: Place, dh: Expr, scalars: PointValues, beside: Buffer
) -> list[Store]:
    c, (now, old, new), (b, u) = walk.c, times, here
    i, f, g, o = (
        scalars.hold(name, c.read(4, now, b, u + n * walk.units)) for n, name in enumerate(("i", "f", "g", "o"))
    )
    shape = scalars.hold("shape", apply("tanh", c.read(3, new, b, u)))
    through = product(dh, o, walk.apart(product(shape, shape)))
    dc = scalars.hold("dc", apply("add", Load(c.outs[2], here), through))
    parts = (
        product(dc, g, i, walk.apart(i)),
        product(dc, c.read(3, old, b, u), f, walk.apart(f)),
        product(dc, i, walk.apart(product(g, g))),
        product(dh, shape, o, walk.apart(o)),
    )
    return [*_rows(walk, c.outs[0], now, here, parts), store(c.outs[2], here, product(dc, f))]


def _of_gru(
    walk: RecurrenceWalk, times: tuple[Index, Index, Index], here: Place, dh: Expr, scalars: PointValues, beside: Buffer
) -> list[Store]:
    c, (now, old, _), (b, u) = walk.c, times, here
    r, z, n, inner = (
        scalars.hold(name, c.read(2, now, b, u + m * walk.units)) for m, name in enumerate(("r", "z", "n", "inner"))
    )
    dn = scalars.hold("dn", product(dh, walk.apart(z), walk.apart(product(n, n))))
    dr = scalars.hold("dr", product(dn, inner, r, walk.apart(r)))
    dz = scalars.hold("dz", product(dh, apply("sub", c.read(1, old, b, u), n), z, walk.apart(z)))
    return [
        *_rows(walk, c.outs[0], now, here, (dr, dz, dn)),
        *_rows(walk, c.outs[2], now, here, (dr, dz, product(dn, r))),
        store(beside, here, product(dh, z)),
    ]


def _of_plain(
    walk: RecurrenceWalk, times: tuple[Index, Index, Index], here: Place, dh: Expr, scalars: PointValues, beside: Buffer
) -> list[Store]:
    c, (now, _, new) = walk.c, times
    y = scalars.hold("y", c.read(1, new, *here))
    nothing = Const(0.0, c.dtype)
    if walk.cell == "relu":  # what is not a number is let through, as by eager
        value = apply("where", apply("le", y, nothing), nothing, dh)
    else:
        value = product(dh, walk.apart(product(y, y)))
    return _rows(walk, c.outs[0], now, here, (value,))


def _rows(walk: RecurrenceWalk, target: Buffer, now: Index, here: Place, parts: Sequence[Expr]) -> list[Store]:
    b, u = here
    return [store(target, (now, b, u + n * walk.units), part) for n, part in enumerate(parts)]


_BACK = {"lstm": _of_lstm, "gru": _of_gru, "tanh": _of_plain, "relu": _of_plain}
