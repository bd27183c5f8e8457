"""Recurrent cells that were exported as a loop: recognised in its body, and given to torch's operator for the whole.

Frameworks without an operator for a recurrent layer (Keras, or a cell called in a Python loop) write a Loop or a Scan
that takes one step per round:

    x_i = Gather(x, i);  z = x_i · W + h · R + b;  i, f, g, o = Split(z)
    c' = σ(f)·c + σ(i)·tanh(g);  h' = σ(o)·tanh(c')            →   LSTM over all of x

The body is read symbolically, from its steps alone: a value is an affine function of the round's input and one state
(`Affine`), or a function of such values (`Applied`), or something that the states never depend on (None).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from strop.frontend.onnx.interpreter import InterpretedBody
from strop.frontend.onnx.ops import ints, known, numbers
from strop.frontend.onnx.program import Stored


@dataclass(frozen=True, eq=False)
class SlicedRow:
    """What the loop reads in its rounds: one row after the other of dimension 0, from `start` on."""

    whole: Tensor
    start: int = 0


@dataclass(frozen=True, eq=False)
class Count:
    """The number of the round, plus `start`."""

    start: int


@dataclass(frozen=True, eq=False)
class LoopState:
    index: int


@dataclass(frozen=True, eq=False)
class FixedValue:
    """The same in every round."""

    value: Tensor


@dataclass(frozen=True, eq=False)
class Joined:
    """Rows and states side by side in the last dimension."""

    parts: tuple[SlicedRow | LoopState, ...]


@dataclass(frozen=True, eq=False)
class Affine:
    """row · w + state · r + b; any of the three may be missing, but not all."""

    row: tuple[SlicedRow, Tensor] | None = None
    state: tuple[LoopState, Tensor] | None = None
    b: Tensor | None = None

    def narrowed(self, start: int, length: int) -> Affine:
        def part(t: Tensor) -> Tensor:
            return t.narrow(-1, start, length)

        return Affine(
            self.row and (self.row[0], part(self.row[1])),
            self.state and (self.state[0], part(self.state[1])),
            None if self.b is None else part(self.b),
        )

    @property
    def width(self) -> int:
        return int(next(t for t in (self.row and self.row[1], self.state and self.state[1], self.b)
                        if t is not None).shape[-1])  # fmt: skip


@dataclass(frozen=True, eq=False)
class Applied:
    op: str
    args: tuple[Any, ...]


Found = SlicedRow | Count | LoopState | FixedValue | Joined | Affine | Applied | None


def whole_layer(
    body: InterpretedBody, states: Sequence[Any], rounds: int, rows: Sequence[Tensor], *, counted: bool
) -> list[Tensor] | None:
    """The loop's results (last states, then what all rounds yield) by one operator; None where it is no such loop.

    `rows` are scanned inputs, time first. A counted body takes the round and a condition before its states.
    """
    program = body.program
    head, out = (2, 1) if counted else (0, 0)
    if rounds < 2 or not all(isinstance(state, Tensor) for state in states):
        return None
    values: dict[str, Found] = {}
    for name in (*program.captured, *program.constants):
        value = program.constants[name] if name in program.constants else body.scope.values.get(name)
        values[name] = FixedValue(value) if isinstance(value, Tensor) else None
    if counted:
        values[program.inputs[0]] = Count(0)
        values[program.inputs[1]] = None
    nexts = program.outputs[out : out + len(states)]
    for i, (name, state) in enumerate(zip(program.inputs[head:], states)):
        start = _counted_from(body, name, nexts[i], state)
        values[name] = LoopState(i) if start is None else Count(start)
    for name, row in zip(program.inputs[head + len(states) :], rows):
        values[name] = SlicedRow(row)
    for step in program.steps:
        given = [values.get(name) if name else None for name in step.inputs]
        plain = step.operator is not None and not step.captured
        attributes = {k: v.value if isinstance(v, Stored) else v for k, v in step.attributes.items()}
        results = _read(step.op, given, attributes, len(step.outputs)) if plain else ()
        values.update(zip(step.outputs, results or (None,) * len(step.outputs)))
    return _results(values, program.inputs[head : head + len(states)], nexts, program.outputs[out + len(states) :],
                    states, rounds)  # fmt: skip


def _counted_from(body: InterpretedBody, name: str, following: str, start: Tensor) -> int | None:
    """Where a state starts that grows by one in every round."""
    step = next((s for s in body.program.steps if following in s.outputs), None)
    first = numbers(start) if isinstance(start, Tensor) and start.numel() == 1 else None
    if step is None or step.op != "Add" or name not in step.inputs or first is None or not float(first[0]).is_integer():
        return None
    other = step.inputs[1] if step.inputs[0] == name else step.inputs[0]
    value = body.program.constants.get(other, body.scope.values.get(other))
    by = numbers(value) if isinstance(value, Tensor) and value.numel() == 1 else None
    return int(first[0]) if by == [1] else None


# ---- reading the steps ----


def _read(op: str, given: list[Found], attributes: Mapping[str, Any], count: int) -> tuple[Found, ...]:
    reader = _READERS.get(op)
    if reader is None or not given:
        return ()
    found = reader(given, attributes, count)
    return found if isinstance(found, tuple) else (found,)


def _same(given: list[Found], attributes: Mapping[str, Any], count: int) -> Found:
    return given[0]


def _gather(given: list[Found], attributes: Mapping[str, Any], count: int) -> Found:
    source, index = given
    if not isinstance(source, FixedValue) or not isinstance(index, Count) or attributes.get("axis", 0):
        return None
    return SlicedRow(source.value, index.start) if source.value.dim() == 3 else None


def _join(given: list[Found], attributes: Mapping[str, Any], count: int) -> Found:
    if attributes["axis"] not in (-1, 1) or not all(isinstance(g, SlicedRow | LoopState) for g in given):
        return None
    return Joined(tuple(g for g in given if isinstance(g, SlicedRow | LoopState)))


def _product(x: Found, w: Tensor) -> Affine | None:
    if w.dim() != 2:
        return None
    if isinstance(x, SlicedRow):
        return Affine(row=(x, w))
    if isinstance(x, LoopState):
        return Affine(state=(x, w))
    return None


def _matmul(given: list[Found], attributes: Mapping[str, Any], count: int) -> Found:
    x, w = given
    if not isinstance(w, FixedValue):
        return None
    if not isinstance(x, Joined):
        return _product(x, w.value)
    total: Found = None
    place = 0
    for part in x.parts:
        width = _width(part, w.value.shape[0] - place, last=part is x.parts[-1])
        if width is None:
            return None
        term = _product(part, w.value.narrow(0, place, width))
        total = term if place == 0 else _plus(total, term)
        place += width
    return total


def _width(part: SlicedRow | LoopState, rest: int, *, last: bool) -> int | None:
    if isinstance(part, SlicedRow):
        return int(part.whole.shape[-1])
    return rest if last else None


def _gemm(given: list[Found], attributes: Mapping[str, Any], count: int) -> Found:
    if attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0 or attributes.get("transA", 0):
        return None
    w = given[1]
    if not isinstance(w, FixedValue) or w.value.dim() != 2:
        return None
    product = _matmul([given[0], FixedValue(w.value.t() if attributes.get("transB", 0) else w.value)], {}, 1)
    return _plus(product, given[2]) if len(given) > 2 else product


def _plus(a: Found, b: Found) -> Found:
    if isinstance(a, FixedValue):
        a, b = b, a
    if not isinstance(a, Affine):
        return None
    if isinstance(b, FixedValue):
        bias = b.value
        if bias.numel() != bias.shape[-1:].numel() or bias.dim() == 0 or bias.shape[-1] != a.width:
            return None
        flat = bias.reshape(-1)
        return Affine(a.row, a.state, flat if a.b is None else a.b + flat)
    if not isinstance(b, Affine) or (a.row and b.row) or (a.state and b.state) or a.width != b.width:
        return None
    bias_of = [t for t in (a.b, b.b) if t is not None]
    return Affine(a.row or b.row, a.state or b.state, sum(bias_of[1:], bias_of[0]) if bias_of else None)


def _binary(op: str) -> Callable[[list[Found], Mapping[str, Any], int], Found]:
    def read(given: list[Found], attributes: Mapping[str, Any], count: int) -> Found:
        found = _plus(*given) if op == "Add" else None
        if found is not None or any(g is None or isinstance(g, SlicedRow | Count | Joined) for g in given):
            return found
        return Applied(op, tuple(given))

    return read


def _unary(op: str) -> Callable[[list[Found], Mapping[str, Any], int], Found]:
    return lambda given, attributes, count: Applied(op, (given[0],)) if isinstance(given[0], Affine | Applied) else None


def _split(given: list[Found], attributes: Mapping[str, Any], count: int) -> tuple[Found, ...]:
    x = given[0]
    sizes = given[1] if len(given) > 1 else None
    if not isinstance(x, Affine) or attributes.get("axis", 0) not in (-1, 1):
        return ()
    lengths = attributes.get("split")
    if isinstance(sizes, FixedValue):
        lengths = None if known(sizes.value) is None else ints(sizes.value)
    elif lengths is None:
        lengths = [x.width // count] * count
    if lengths is None or len(lengths) != count or sum(lengths) != x.width:
        return ()
    starts = [sum(lengths[:k]) for k in range(count)]
    return tuple(x.narrowed(start, length) for start, length in zip(starts, lengths))


def _slice(given: list[Found], attributes: Mapping[str, Any], count: int) -> Found:
    x, *limits = given
    if not isinstance(x, Affine):
        return None
    values = [numbers(g.value) for g in limits if isinstance(g, FixedValue)]
    if not limits:
        values = [attributes.get("starts"), attributes.get("ends"), attributes.get("axes")]
    if len(values) < 3 or any(v is None or len(v) != 1 for v in values) or values[2][0] not in (-1, 1):  # type: ignore[index]
        return None
    start, end, *_ = (int(v[0]) for v in values if v)
    if len(values) > 3 and values[3] != [1]:
        return None
    start, end = (max(0, min(k + x.width if k < 0 else k, x.width)) for k in (start, end))
    return x.narrowed(start, end - start) if end > start else None


_READERS: dict[str, Callable[[list[Found], Mapping[str, Any], int], Found | tuple[Found, ...]]] = {
    "Identity": _same, "Gather": _gather, "Concat": _join, "MatMul": _matmul, "Gemm": _gemm, "Split": _split,
    "Slice": _slice, "Add": _binary("Add"), "Mul": _binary("Mul"), "Sub": _binary("Sub"),
    "Sigmoid": _unary("Sigmoid"), "Tanh": _unary("Tanh"), "Relu": _unary("Relu"),
}  # fmt: skip


# ---- recognising the cell ----


def _orders(x: Any, op: str) -> Iterator[tuple[Any, Any]]:
    """The two arguments of a sum or product, in both orders."""
    if isinstance(x, Applied) and x.op == op:
        a, b = x.args
        yield a, b
        yield b, a


def _inside(x: Any, op: str) -> Any:
    return x.args[0] if isinstance(x, Applied) and x.op == op else None


def _lstm(h: Found, c: Found, own: tuple[LoopState, LoopState]) -> list[Affine] | None:
    """The gates i, f, g, o."""
    out = [_inside(a, "Sigmoid") for a, b in _orders(h, "Mul") if _inside(b, "Tanh") is c and c is not None]
    for kept, fresh in _orders(c, "Add"):
        forget = [_inside(a, "Sigmoid") for a, b in _orders(kept, "Mul") if b is own[1]]
        new = [(_inside(a, "Sigmoid"), _inside(b, "Tanh")) for a, b in _orders(fresh, "Mul")]
        both = next((pair for pair in new if pair[0] is not None and pair[1] is not None), None)
        gates = [*(both or ()), *forget, *out]
        if both and forget and out and all(_complete(g, own[0]) for g in gates):
            return [both[0], forget[0], both[1], out[0]]
    return None


def _gru(h: Found, own: LoopState) -> list[Affine] | None:
    """The gates r, z, then what the row and what the state gives to the new state."""
    for kept, fresh in _orders(h, "Add"):
        for z, old in _orders(kept, "Mul"):
            new = next((n for rest, n in _orders(fresh, "Mul") if _one_minus(rest) is z), None)
            found, gate = _reset(_inside(new, "Tanh"), own), _inside(z, "Sigmoid")
            if old is own and found is not None and _complete(gate, own):
                reset, row, state = found
                return [reset, gate, row, state]
    return None


def _reset(x: Any, own: LoopState) -> tuple[Affine, Affine, Affine] | None:
    """row · w + σ(reset) ∘ (state · r): the reset gate and the two products."""
    for row, product in _orders(x, "Add"):
        for gate, state in _orders(product, "Mul"):
            reset = _inside(gate, "Sigmoid")
            if _only_row(row) and _only_state(state, own) and _complete(reset, own):
                return reset, row, state
    return None


def _one_minus(x: Any) -> Any:
    if not (isinstance(x, Applied) and x.op == "Sub" and isinstance(x.args[0], FixedValue)):
        return None
    one = numbers(x.args[0].value) if x.args[0].value.numel() == 1 else None
    return x.args[1] if one == [1] else None


def _complete(x: Any, own: LoopState) -> bool:
    return isinstance(x, Affine) and x.row is not None and x.state is not None and x.state[0] is own


def _only_row(x: Any) -> bool:
    return isinstance(x, Affine) and x.row is not None and x.state is None


def _only_state(x: Any, own: LoopState) -> bool:
    return isinstance(x, Affine) and x.row is None and x.state is not None and x.state[0] is own


def _results(
    values: Mapping[str, Found], inputs: Sequence[str], nexts: Sequence[str], yields: Sequence[str],
    states: Sequence[Tensor], rounds: int,
) -> list[Tensor] | None:  # fmt: skip
    own = {i: found for i, name in enumerate(inputs) if isinstance(found := values[name], LoopState)}
    layer = _layer(own, {i: values[nexts[i]] for i in own}, states, rounds)
    if layer is None or any(values[name] is not values[nexts[layer.h]] for name in yields):
        return None
    last = [layer.last[i] if i in own else state + rounds for i, state in enumerate(states)]
    return [*last, *(layer.all for _ in yields)]


@dataclass(frozen=True)
class Layer:
    h: int  # the state that is also what every round gives
    all: Tensor
    last: Mapping[int, Tensor]


def _layer(
    own: Mapping[int, LoopState], following: Mapping[int, Found], states: Sequence[Tensor], rounds: int
) -> Layer | None:
    if any(states[i].dim() != 2 or not states[i].is_floating_point() for i in own):
        return None
    if len(own) == 1:
        ((i, h),) = own.items()
        for op, kernel in (("Tanh", torch.rnn_tanh), ("Relu", torch.rnn_relu)):
            gate = _inside(following[i], op)
            if gate is not None and _complete(gate, h):
                y, state = _run(kernel, [gate], [gate], [states[i]], rounds) or (None, None)
                return None if y is None or state is None else Layer(i, y, {i: state})
        gates = _gru(following[i], h)
        made = gates and _run(torch.gru, gates[:3], [*gates[:2], gates[3]], [states[i]], rounds)
        return Layer(i, made[0], {i: made[1]}) if made else None
    if len(own) != 2:
        return None
    for i, j in (tuple(own), tuple(own)[::-1]):
        gates = _lstm(following[i], following[j], (own[i], own[j]))
        made = gates and _run(torch.lstm, gates, gates, [states[i], states[j]], rounds)
        if made:
            return Layer(i, made[0], {i: made[1], j: made[2]})
    return None


def _run(
    kernel: Any, rows: Sequence[Affine], of_state: Sequence[Affine], states: Sequence[Tensor], rounds: int
) -> tuple[Tensor, ...] | None:
    """Torch's operator; None where the gates read different rows or the shapes do not fit."""
    read = [a.row for a in rows if a.row is not None]
    multiplied = [a.state[1] for a in of_state if a.state is not None]
    source = read[0][0]
    hidden, batch = states[0].shape[1], source.whole.shape[1]
    same = all(row.whole is source.whole and row.start == source.start for row, _ in read)
    fits = source.whole.dim() == 3 and source.start >= 0 and source.start + rounds <= source.whole.shape[0]
    shapes = all(tuple(w.shape) == (source.whole.shape[2], hidden) for _, w in read)
    square = all(tuple(r.shape) == (hidden, hidden) for r in multiplied)
    if not (same and fits and shapes and square) or any(tuple(s.shape) != (batch, hidden) for s in states):
        return None
    x = source.whole if source.whole.shape[0] == rounds else source.whole.narrow(0, source.start, rounds)
    weights = [torch.cat([w.t() for _, w in read]), torch.cat([r.t() for r in multiplied])]
    split = [rows[k] is not of_state[k] for k in range(len(rows))]
    if any(a.b is not None for a in (*rows, *of_state)):
        nothing = x.new_zeros(hidden)
        weights.append(torch.cat([nothing if a.b is None else a.b for a in rows]))
        weights.append(torch.cat([nothing if a.b is None or not own else a.b for a, own in zip(of_state, split)]))
    start = tuple(s.unsqueeze(0) for s in states)
    y, *last = kernel(x, start if len(start) > 1 else start[0], weights, len(weights) > 2, 1, 0.0, False, False, False)
    return y, *(s.squeeze(0) for s in last)
