"""An LSTM whose state is rounded to 8 bits at every step, and whose weights are bytes.

    sequential t in 64:
      low, high = the least and greatest of h and 0;  step = (high - low) / 255;  zero = ⌊-low / step⌉
      parallel b, k:  q[b, k] = four bytes ⌊h / step⌉ + zero, of the four quarters of the state
      parallel b, j:  g[b, j] = (Σ_k q[b, k]·w[j, k] - zero·Σ w[j]) · step · scale[j]
      parallel b, u:  c, h, out[t] = …gates of x[t, b, ·] + g[b, ·]

The input's part of the gates comes in with the biases, in ONNX's order: input, output, forget, cell.
"""

from __future__ import annotations

from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node
from strop.loops.index import Index, Var
from strop.loops.ir import Apply, Buffer, Const, Expr, Load, Loop, Nest, Store
from strop.loops.lower import Context, as_index, lowering, store
from strop.loops.lower.contractions import accumulate, parallel, reducing, value_of
from strop.loops.lower.pointwise import apply, cast
from strop.loops.lower.reductions import fold

BYTES = 4
LAST = 255.0


def _in_quarters(node: Node) -> Verdict:
    if node.inputs[1].shape[-1] % BYTES:
        return no(f"a state of {node.inputs[1].shape[-1]} units has no four equal parts")
    return yes()


@lowering("byte_lstm", check=_in_quarters)
def byte_lstm(c: Context) -> list[Nest]:
    batch, units = c.node.inputs[1].shape
    states = [c.temporary(name, "f32", (batch, units)) for name in "hc"]
    b, u = parallel("b", batch), parallel("u", units)
    begin = [store(buffer, (b, u), c.read(1 + i, b, u)) for i, buffer in enumerate(states)]
    end = [store(c.outs[1 + i], (b, u), Load(buffer, _at(b, u))) for i, buffer in enumerate(states)]
    return [c.nest((b, u), *begin, suffix="begin"), _walk(c, *states), c.nest((b, u), *end, suffix="end")]


def _at(*loops: Loop) -> tuple[Index, ...]:
    return tuple(map(as_index, loops))


def _walk(c: Context, h: Buffer, cell: Buffer) -> Nest:
    time, batch, rows = c.node.inputs[0].shape
    units = h.shape[1]
    t = Loop(Var("t", time), "sequential")
    now = as_index(t) * -1 + (time - 1) if c.node.attrs["backwards"] else as_index(t)
    low, high, step, zero = (c.scratch(name, "f32") for name in ("low", "high", "step", "zero"))
    q = c.scratch("q", "i32", (batch, units // BYTES))
    gates = c.scratch("g", "f32", (batch, rows))
    body: list[Store | Nest] = [
        *_least(low, h, "min", "l"),
        *_least(high, h, "max", "m"),
        *_even_steps(low, high, step, zero),
        _packed(h, q, step, zero),
        _products(c, q, gates, step, zero),
        _gated(c, now, gates, h, cell),
    ]
    return c.nest((t,), *body, scratch=(low, high, step, zero, q, gates), suffix="walk")


def _least(acc: Buffer, h: Buffer, reduce: str, mark: str) -> tuple[Store | Nest, ...]:
    """The extreme of the state and 0."""
    b, u = (reducing(f"{mark}{i}", extent) for i, extent in enumerate(h.shape))
    function = {"min": "minimum", "max": "maximum"}[reduce]
    found = fold(acc, (b, u), Load(h, _at(b, u)), reduce)
    return *found, store(acc, (), apply(function, value_of(acc), Const(0.0, "f32")))


def _even_steps(low: Buffer, high: Buffer, step: Buffer, zero: Buffer) -> tuple[Store, Store]:
    """The distance between two of 256 values that just hold all, and which of them is zero."""
    distance = apply("div", apply("sub", value_of(high), value_of(low)), Const(LAST, "f32"))
    nothing = apply("eq", distance, Const(0.0, "f32"))
    point = apply("div", apply("sub", Const(0.0, "f32"), value_of(low)), value_of(step))
    return (
        store(step, (), Apply("where", (nothing, Const(1.0, "f32"), distance), "f32")),
        store(zero, (), apply("round", _clamped(point))),
    )


def _clamped(x: Expr) -> Expr:
    return apply("minimum", apply("maximum", x, Const(0.0, "f32")), Const(LAST, "f32"))


def _packed(h: Buffer, q: Buffer, step: Buffer, zero: Buffer) -> Nest:
    b, k = parallel("qb", q.shape[0]), parallel("qk", q.shape[1])

    def byte(quarter: int) -> Expr:
        value = Load(h, (as_index(b), as_index(k) + quarter * q.shape[1]))
        return _clamped(apply("add", apply("round", apply("div", value, value_of(step))), value_of(zero)))

    def pair(first: int) -> Expr:
        return cast(apply("add", byte(first), apply("mul", byte(first + 1), Const(2.0**8, "f32"))), "i32")

    upper = apply("shl", pair(2), Const(16, "i32"))
    return Nest((b, k), (store(q, (b, k), apply("add", pair(0), upper)),))


def _products(c: Context, q: Buffer, gates: Buffer, step: Buffer, zero: Buffer) -> Nest:
    batch, rows = gates.shape
    b, j, k = parallel("gb", batch), parallel("j", rows), reducing("k", q.shape[1])
    acc = c.scratch("acc", "i32")
    sums = accumulate(acc, (k,), Load(q, _at(b, k)), c.read(3, j, k), "dot4")
    centred = apply("sub", value_of(acc), apply("mul", cast(value_of(zero), "i32"), c.read(4, j)))
    made = apply("mul", cast(centred, "f32"), apply("mul", value_of(step), c.read(5, j)))
    return Nest((b, j), (*sums, store(gates, (b, j), made)), (acc,))


def _gated(c: Context, now: Index, gates: Buffer, h: Buffer, cell: Buffer) -> Nest:
    b, u = parallel("bu", h.shape[0]), parallel("u", h.shape[1])
    units = h.shape[1]

    def gate(which: int, function: str) -> Expr:
        here = as_index(u) + which * units
        return apply(function, apply("add", c.read(0, now, b, here), Load(gates, (as_index(b), here))))

    entering = apply("mul", gate(0, "sigmoid"), gate(3, "tanh"))
    kept = apply("mul", gate(2, "sigmoid"), Load(cell, _at(b, u)))
    shown = apply("mul", gate(1, "sigmoid"), apply("tanh", Load(cell, _at(b, u))))
    return Nest((b, u), (
        store(cell, (b, u), apply("add", kept, entering)),
        store(h, (b, u), shown),
        store(c.out, (now, b, u), Load(h, _at(b, u))),
    ))  # fmt: skip
