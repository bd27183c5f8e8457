"""Recurrent layers: LSTM, GRU and plain RNN.

Per layer one contraction projects the inputs of all time steps; then a nest walks through time in order:

    sequential t in 100:
      scratch g[1, 1024]
      parallel b, j:  g[b, j] = Σ_k h[b, k]·w_hh[j, k]          # reads the whole old state
      parallel b, u:  h[b, u], out[t, b, u] = …gates of g[b, ·]  # then replaces it, element by element

so the state lives in one buffer and no element is read after it was replaced. Both directions share the walk, or one
follows the other, so that a cache has to hold the weights of one only. Where the weights lie compactly, a block of them
has all gates of some units, which follow at once; old states are then kept:

    sequential t in 100:
      parallel o:                                                # blocks of units
        sums[4, 32] = Σ_k h[t, k]·w_hh[…, k]
        parallel u:  h[t+1, u], out[t, u] = …gates of sums
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node, Type
from strop.loops.index import ZERO, Index, Var, index_of
from strop.loops.ir import Buffer, Const, Expr, Load, Loop, Nest, Store
from strop.loops.lower import Context, Lowering, as_index, lowering, store
from strop.loops.lower.contractions import accumulate, linear, parallel, reducing, value_of
from strop.loops.lower.int24_weights import Int24Weights, Matrix
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
class PartAlgorithms:
    """How the parts of a recurrent layer are computed: inputs times weights by some algorithm for `linear` (per cell;
    none: directly), states times weights that lie compactly or as they are, directions together or one after the other.
    """

    inputs: tuple[Lowering | None, ...] = ()
    states: Int24Weights | None = None
    apart: bool = False


def projections(node: Node) -> list[Node]:
    """Per layer and direction, the product of all inputs and weights."""
    first, given = node.attrs["batch_first"], node.inputs[0].shape
    batch, time = given[0 if first else 1], given[1 if first else 0]
    directions, dtype = 2 if node.attrs["bidirectional"] else 1, node.types[0].dtype
    each = 4 if node.attrs["has_bias"] else 2
    found = []
    for number in range(node.attrs["layers"] * directions):
        width = given[2] if number < directions else directions * _hidden(node)
        source = Node("input", types=(Type(dtype, (time, batch, width)),))
        own = 1 + STATES[node.op] + each * number
        weight, _, *biases = node.inputs[own : own + each]
        shape = (time, batch, weight.shape[0])
        mark = f"{number // directions}{'r' if number % directions else ''}"
        types = (Type(dtype, shape),)
        found.append(Node("linear", (source, weight, *biases[:1]), {}, types, f"{node.name}.in{mark}", node.origin))
    return found


@dataclass(frozen=True)
class RecurrentCell:
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

    def input_bias(self, j: Index) -> Expr:
        """b_ih, and b_hh where that is only added."""
        bias = self.weight(2, j)
        return bias if self.c.node.op == "gru" else apply("add", bias, self.weight(3, j))

    def with_bias(self, total: Expr, j: Index) -> Expr:
        """A gate's part that comes from the state; GRU scales it together with its bias."""
        if self.c.node.op != "gru" or not self.c.node.attrs["has_bias"]:
            return total
        return apply("add", total, self.weight(3, j))

    def matrix(self, shape: Int24Weights) -> Matrix:
        units = _hidden(self.c.node)
        return shape.matrix(self.c, f"hh{self.suffix}", GATES[self.c.node.op], units, units)

    def project(self, source: Source, product: Node, way: Lowering) -> tuple[list[Nest], Buffer]:
        """w_ih·x + bias for all time steps at once."""
        c = self.c
        target = c.temporary(f"in{self.suffix}", c.dtype, product.shape)
        reads = (source, partial(self.weight, 0), self.input_bias)
        inner = Context(product, reads, (target,), c.extra, c.constants)
        return list(way(inner)), target


Source = Callable[[Index, Index, Index], Expr]


@dataclass(frozen=True)
class RecurrentState:
    """A state, [batch, units] that is replaced at every step, or [time + 1, batch, units]."""

    buffer: Buffer

    def place(self, step: Index, *here: Index) -> tuple[Index, ...]:
        return (step, *here) if len(self.buffer.shape) == 3 else here

    def at(self, step: Index, *here: Index) -> Load:
        """Before a step."""
        return Load(self.buffer, self.place(step, *here))

    def replaced(self, step: Index, here: Sequence[Index], value: Expr) -> Store:
        return Store(self.buffer, self.place(step + 1, *here), value)


@lowering("lstm", "gru", "rnn", check=_checked)
def recurrent(c: Context) -> list[Nest]:
    return recurrent_by(c, PartAlgorithms())


def recurrent_by(c: Context, ways: PartAlgorithms) -> list[Nest]:
    node = c.node
    first = node.attrs["batch_first"]
    batch, time = node.inputs[0].shape[0 if first else 1], node.inputs[0].shape[1 if first else 0]
    directions, units, names = 2 if node.attrs["bidirectional"] else 1, _hidden(node), "hc"[: STATES[node.op]]
    cells = [[RecurrentCell(c, layer, d) for d in range(directions)] for layer in range(node.attrs["layers"])]
    shown = (time + 1, batch, units) if ways.states is not None else (batch, units)
    states = [
        [
            RecurrentState(c.temporary(f"{name}{cell.suffix}", c.dtype, shown if name == "h" else (batch, units)))
            for name in names
        ]
        for layer in cells
        for cell in layer
    ]
    nests = [_begin(c, states)]
    products = projections(node)

    def given(t: Index, b: Index, k: Index) -> Expr:
        return c.read(0, b, t, k) if first else c.read(0, t, b, k)

    source: Source = given
    for number, layer in enumerate(cells):
        last = number == len(cells) - 1
        target = c.out if last else c.temporary(f"out{number}", c.dtype, (time, batch, directions * units))
        projected: list[Buffer] = []
        for cell in layer:
            way = ways.inputs[cell.number] if ways.inputs else None
            made, buffer = cell.project(source, products[cell.number], way or linear)
            nests += made
            projected.append(buffer)
        own = states[number * directions : (number + 1) * directions]
        steps = [RecurrentStep(*parts, target, last and first) for parts in zip(layer, projected, own)]
        for walk in [[step] for step in steps] if ways.apart else [steps]:
            nests += _walk(walk, ways.states)
        source = _reader(target)
    return [*nests, _end(c, states, time)]


def _reader(buffer: Buffer) -> Source:
    return lambda t, b, k: Load(buffer, (t, b, k))


def _begin(c: Context, states: Sequence[Sequence[RecurrentState]]) -> Nest:
    """The states start as the inputs h0 (and c0) say."""
    batch, units = states[0][0].buffer.shape[-2:]
    b, u = parallel("b", batch), parallel("u", units)
    body = [
        store(state.buffer, state.place(ZERO, as_index(b), as_index(u)), c.read(1 + kind, number, b, u))
        for number, kinds in enumerate(states)
        for kind, state in enumerate(kinds)
    ]
    return c.nest((b, u), *body, suffix="begin")


def _end(c: Context, states: Sequence[Sequence[RecurrentState]], time: int) -> Nest:
    batch, units = states[0][0].buffer.shape[-2:]
    b, u = parallel("b", batch), parallel("u", units)
    body = [
        store(c.outs[1 + kind], (number, b, u), state.at(index_of(time), as_index(b), as_index(u)))
        for number, kinds in enumerate(states)
        for kind, state in enumerate(kinds)
    ]
    return c.nest((b, u), *body, suffix="end")


def _walk(steps: Sequence[RecurrentStep], compact: Int24Weights | None) -> list[Nest]:
    """Through time, in order; the second direction from the end."""
    c, suffix = steps[0].cell.c, steps[0].cell.suffix
    t = Loop(Var("t", steps[0].given.shape[0]), "sequential")
    if compact is None:
        gates = [c.scratch(f"g{step.mark}", c.dtype, step.given.shape[1:]) for step in steps]
        body = [nest for step, sums in zip(steps, gates) for nest in step.directly(as_index(t), sums)]
        return [c.nest((t,), *body, scratch=gates, suffix=suffix)]
    held = [step.cell.matrix(compact) for step in steps]
    nests = [nest for step, matrix in zip(steps, held) for nest in matrix.prepare(partial(step.cell.weight, 1))]
    blocks = [nest for step, matrix in zip(steps, held) for nest in step.in_blocks(as_index(t), matrix)]
    return [*nests, c.nest((t,), *blocks, suffix=suffix)]


@dataclass(frozen=True)
class RecurrentStep:
    """One time step of a cell: what it is given from the inputs, its states, where it shows the new one."""

    cell: RecurrentCell
    given: Buffer
    states: Sequence[RecurrentState]
    target: Buffer
    batch_first: bool

    @property
    def mark(self) -> str:
        return "r" if self.cell.direction else ""

    @property
    def units(self) -> int:
        return _hidden(self.cell.c.node)

    def directly(self, t: Index, sums: Buffer) -> list[Nest]:
        """All gates' products with the old state, then the new one."""
        c, mark, (batch, rows) = self.cell.c, self.mark, sums.shape
        b, j, k = parallel(f"b{mark}", batch), parallel(f"j{mark}", rows), reducing(f"k{mark}", self.units)
        acc = c.scratch(f"acc{mark}", c.dtype)
        old = self.states[0].at(t, as_index(b), as_index(k))
        products = accumulate(acc, (k,), old, self.cell.weight(1, j, k))
        total = self.cell.with_bias(value_of(acc), as_index(j))
        bu, u = parallel(f"bu{mark}", batch), parallel(f"u{mark}", self.units)
        here = (as_index(bu), as_index(u))
        parts = [Load(sums, (here[0], here[1] + gate * self.units)) for gate in range(rows // self.units)]
        finished, extra = self.pointwise(t, here, parts)
        return [
            Nest((b, j), (*products, store(sums, (b, j), total)), (acc,)),
            Nest((bu, u), tuple(finished), extra),
        ]

    def in_blocks(self, t: Index, matrix: Matrix) -> list[Nest]:
        """Blocks of units, each from its gates' products to its new state, for a batch of one."""

        def finish(u: Index, totals: Sequence[Expr]) -> tuple[Sequence[Store], Sequence[Buffer]]:
            biased = [self.cell.with_bias(total, u + gate * self.units) for gate, total in enumerate(totals)]
            return self.pointwise(t, (ZERO, u), biased)

        return matrix.walk(lambda k: self.states[0].at(t, ZERO, k), finish, self.mark)

    def pointwise(
        self, t: Index, here: tuple[Index, Index], sums: Sequence[Expr]
    ) -> tuple[list[Store], tuple[Buffer, ...]]:
        """Stores that replace a unit's state and show it, and their scratch."""
        b, u = here
        now = t * -1 + (self.given.shape[0] - 1) if self.cell.direction else t
        parts = [Load(self.given, (now, b, u + gate * self.units)) for gate in range(len(sums))]
        values, extra = self._values(t, here, parts, sums)
        stores = [state.replaced(t, here, value) for state, value in zip(self.states, values)][::-1]
        place = (b, now) if self.batch_first else (now, b)
        new = self.states[0].at(t + 1, *here)
        stores.append(store(self.target, (*place, u + self.cell.direction * self.units), new))
        held = [store(scratch, (), value) for scratch, value in extra]
        return [*held, *stores], tuple(scratch for scratch, _ in extra)

    def _values(
        self, t: Index, here: tuple[Index, Index], given: Sequence[Expr], sums: Sequence[Expr]
    ) -> tuple[list[Expr], list[tuple[Buffer, Expr]]]:
        """The new states (the first is made of the second's new value), and scratch with what it holds."""
        c = self.cell.c

        def gate(which: int, function: str) -> Expr:
            return apply(function, apply("add", given[which], sums[which]))

        if c.node.op == "rnn":
            plain = apply("add", given[0], sums[0])
            relu = c.node.attrs["nonlinearity"] == "relu"
            return [apply("maximum", plain, Const(0.0, c.dtype)) if relu else apply("tanh", plain)], []
        if c.node.op == "gru":
            update = c.scratch(f"z{self.mark}", c.dtype)
            new = apply("tanh", apply("add", given[2], apply("mul", gate(0, "sigmoid"), sums[2])))
            # (1 - z)·new + z·old
            kept = apply("mul", value_of(update), self.states[0].at(t, *here))
            value = apply("add", apply("mul", apply("sub", Const(1.0, c.dtype), value_of(update)), new), kept)
            return [value], [(update, gate(1, "sigmoid"))]
        entering = apply("mul", gate(0, "sigmoid"), gate(2, "tanh"))
        value = apply("add", apply("mul", gate(1, "sigmoid"), self.states[1].at(t, *here)), entering)
        shown = apply("mul", gate(3, "sigmoid"), apply("tanh", self.states[1].at(t + 1, *here)))
        return [shown, value], []
