"""Recurrent layers: LSTM, GRU and plain RNN.

Per layer one contraction projects the inputs of all time steps; then a nest walks through time in order:

    sequential t in 100:
      scratch g[1, 1024]
      parallel b, j:  g[b, j] = Σ_k h[b, k]·w_hh[j, k]          # reads the whole old state
      parallel b, u:  h[b, u], out[t, b, u] = …gates of g[b, ·]  # then replaces it, element by element

so the state lives in one buffer and no element is read after it was replaced. Both directions share the walk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node
from strop.loops.index import Index, Var
from strop.loops.ir import Buffer, Const, Expr, Load, Loop, Nest, Store
from strop.loops.lower import Context, as_index, lowering, store
from strop.loops.lower.contractions import accumulate, parallel, reducing, value_of
from strop.loops.lower.pointwise import apply

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
STATES = {"lstm": 2, "gru": 1, "rnn": 1}


def _checked(node: Node) -> Verdict:
    if node.types[0].dtype not in ("f32", "f64"):
        return no(f"`{node.op}` computes with f32 and f64, not {node.types[0].dtype}")
    if len(node.inputs[0].shape) != 3:
        return no(f"`{node.op}` without a batch dimension")
    directions = 2 if node.attrs["bidirectional"] else 1
    each = 4 if node.attrs["has_bias"] else 2
    wanted = 1 + STATES[node.op] + each * node.attrs["layers"] * directions
    if len(node.inputs) != wanted or node.types[0].shape[-1] != directions * _hidden(node):
        return no(f"`{node.op}` with a projection of its state")
    return yes()


def _hidden(node: Node) -> int:
    """Units per direction: w_hh is [gates·H, H]."""
    return node.inputs[STATES[node.op] + 2].shape[0] // GATES[node.op]


@dataclass(frozen=True)
class Cell:
    """One direction of one layer."""

    c: Context
    layer: int
    direction: int

    @property
    def number(self) -> int:
        return self.layer * (2 if self.c.node.attrs["bidirectional"] else 1) + self.direction

    @property
    def suffix(self) -> str:
        return f"{self.layer}{'r' if self.direction else ''}"

    def weight(self, which: int, *index: Loop | Index) -> Expr:
        """w_ih, w_hh, b_ih, b_hh are 0 … 3."""
        each = 4 if self.c.node.attrs["has_bias"] else 2
        return self.c.read(1 + STATES[self.c.node.op] + each * self.number + which, *index)


Source = Callable[[Index, Loop, Loop], Expr]


@lowering("lstm", "gru", "rnn", check=_checked)
def recurrent(c: Context) -> list[Nest]:
    node = c.node
    first = node.attrs["batch_first"]
    batch, time = node.inputs[0].shape[0 if first else 1], node.inputs[0].shape[1 if first else 0]
    directions, units = 2 if node.attrs["bidirectional"] else 1, _hidden(node)
    cells = [[Cell(c, layer, d) for d in range(directions)] for layer in range(node.attrs["layers"])]
    states = [
        [c.temporary(f"{name}{cell.suffix}", c.dtype, (batch, units)) for name in "hc"[: STATES[node.op]]]
        for layer in cells
        for cell in layer
    ]
    nests = [_begin(c, states)]

    def given(t: Index, b: Loop, k: Loop) -> Expr:
        return c.read(0, b, t, k) if first else c.read(0, t, b, k)

    source: Source = given
    for number, layer in enumerate(cells):
        last = number == len(cells) - 1
        width = directions * units if number else node.inputs[0].shape[2]
        shape = (time, batch, directions * units)
        target = c.out if last else c.temporary(f"out{number}", c.dtype, shape)
        projected = [_project(cell, source, time, batch, width) for cell in layer]
        nests += [nest for nest, _ in projected]
        own = states[number * directions : (number + 1) * directions]
        nests.append(_walk(layer, [buffer for _, buffer in projected], own, target, last and first))
        source = _reader(target)
    return [*nests, _end(c, states)]


def _reader(buffer: Buffer) -> Source:
    return lambda t, b, k: Load(buffer, (t, as_index(b), as_index(k)))


def _begin(c: Context, states: Sequence[Sequence[Buffer]]) -> Nest:
    """The states start as the inputs h0 (and c0) say."""
    batch, units = states[0][0].shape
    b, u = parallel("b", batch), parallel("u", units)
    body = [
        store(buffer, (b, u), c.read(1 + kind, number, b, u))
        for number, kinds in enumerate(states)
        for kind, buffer in enumerate(kinds)
    ]
    return c.nest((b, u), *body, suffix="begin")


def _end(c: Context, states: Sequence[Sequence[Buffer]]) -> Nest:
    batch, units = states[0][0].shape
    b, u = parallel("b", batch), parallel("u", units)
    body = [
        store(c.outs[1 + kind], (number, b, u), Load(buffer, (as_index(b), as_index(u))))
        for number, kinds in enumerate(states)
        for kind, buffer in enumerate(kinds)
    ]
    return c.nest((b, u), *body, suffix="end")


def _project(cell: Cell, source: Source, time: int, batch: int, width: int) -> tuple[Nest, Buffer]:
    """w_ih·x + b_ih (+ b_hh where that is only added) for all time steps at once."""
    c = cell.c
    rows = GATES[c.node.op] * _hidden(c.node)
    t, b, j, k = parallel("t", time), parallel("b", batch), parallel("j", rows), reducing("k", width)
    target = c.temporary(f"in{cell.suffix}", c.dtype, (time, batch, rows))
    acc = c.scratch("acc", c.dtype)
    total = value_of(acc)
    if c.node.attrs["has_bias"]:
        total = apply("add", total, cell.weight(2, j))
        if c.node.op != "gru":
            total = apply("add", total, cell.weight(3, j))
    body = (*accumulate(acc, (k,), source(as_index(t), b, k), cell.weight(0, j, k)), store(target, (t, b, j), total))
    return c.nest((t, b, j), *body, scratch=(acc,), suffix=f"in{cell.suffix}"), target


def _walk(
    layer: Sequence[Cell],
    projected: Sequence[Buffer],
    states: Sequence[Sequence[Buffer]],
    target: Buffer,
    batch_first: bool,
) -> Nest:
    """Through time, in order; the second direction from the end."""
    c = layer[0].c
    time, batch, rows = projected[0].shape
    units = _hidden(c.node)
    t = Loop(Var("t", time), "sequential")
    body: list[Store | Nest] = []
    gates: list[Buffer] = []
    for cell, given, state in zip(layer, projected, states):
        mark = "r" if cell.direction else ""
        now = as_index(t) * -1 + (time - 1) if cell.direction else as_index(t)
        sums = c.scratch(f"g{mark}", c.dtype, (batch, rows))
        acc = c.scratch(f"acc{mark}", c.dtype)
        b, j, k = parallel(f"b{mark}", batch), parallel(f"j{mark}", rows), reducing(f"k{mark}", units)
        old = Load(state[0], (as_index(b), as_index(k)))
        total = value_of(acc)
        if c.node.op == "gru" and c.node.attrs["has_bias"]:
            total = apply("add", total, cell.weight(3, j))
        products = accumulate(acc, (k,), old, cell.weight(1, j, k))
        body.append(Nest((b, j), (*products, store(sums, (b, j), total)), (acc,)))

        bu, u = parallel(f"bu{mark}", batch), parallel(f"u{mark}", units)
        here = (as_index(bu), as_index(u))
        step = Step(given, sums, now, here, units, state)
        place = (here[0], now) if batch_first else (now, here[0])
        finished, extra = step.pointwise(c, mark)
        shown = store(target, (*place, here[1] + cell.direction * units), Load(state[0], here))
        body.append(Nest((bu, u), (*finished, shown), extra))
        gates.append(sums)
    return c.nest((t,), *body, scratch=gates, suffix=str(layer[0].layer))


@dataclass(frozen=True)
class Step:
    """The pointwise part of one time step for one unit."""

    given: Buffer
    sums: Buffer
    now: Index
    here: tuple[Index, Index]
    units: int
    state: Sequence[Buffer]

    def from_input(self, gate: int) -> Expr:
        return Load(self.given, (self.now, self.here[0], self.here[1] + gate * self.units))

    def from_state(self, gate: int) -> Expr:
        return Load(self.sums, (self.here[0], self.here[1] + gate * self.units))

    def gate(self, which: int, function: str) -> Expr:
        return apply(function, apply("add", self.from_input(which), self.from_state(which)))

    def pointwise(self, c: Context, mark: str) -> tuple[list[Store], tuple[Buffer, ...]]:
        """Stores that replace this unit's state, and their scratch."""
        old = Load(self.state[0], self.here)
        if c.node.op == "rnn":
            plain = apply("add", self.from_input(0), self.from_state(0))
            relu = c.node.attrs["nonlinearity"] == "relu"
            value = apply("maximum", plain, Const(0.0, c.dtype)) if relu else apply("tanh", plain)
            return [store(self.state[0], self.here, value)], ()
        if c.node.op == "gru":
            update = c.scratch(f"z{mark}", c.dtype)
            new = apply(
                "tanh", apply("add", self.from_input(2), apply("mul", self.gate(0, "sigmoid"), self.from_state(2)))
            )
            # (1 - z)·new + z·old
            kept = apply("mul", value_of(update), old)
            value = apply("add", apply("mul", apply("sub", Const(1.0, c.dtype), value_of(update)), new), kept)
            return [store(update, (), self.gate(1, "sigmoid")), store(self.state[0], self.here, value)], (update,)
        cell = Load(self.state[1], self.here)
        entering = apply("mul", self.gate(0, "sigmoid"), self.gate(2, "tanh"))
        value = apply("add", apply("mul", self.gate(1, "sigmoid"), cell), entering)
        shown = apply("mul", self.gate(3, "sigmoid"), apply("tanh", cell))
        return [store(self.state[1], self.here, value), store(self.state[0], self.here, shown)], ()
