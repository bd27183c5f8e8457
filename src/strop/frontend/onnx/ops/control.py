"""Control flow: If, Loop and Scan.

What is known while capturing is decided there: a branch is taken, a few rounds are written out, a recurrent layer is
recognised (`loop_cells`). Longer loops become one library node that runs the body, a module of its own, at every round
(`onnx_parts`). A condition that only data can tell is reported first, since binding the inputs behind it gives the
better program; where they cannot be bound it becomes a library node too, provided that the shapes of the results are
known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch._subclasses import FakeTensor

from strop.frontend.onnx.context import deferring, is_capturing
from strop.frontend.onnx.interpreter import InterpretedBody, Interpreter, ValueScope
from strop.frontend.onnx.ops import Unknown, Unsupported, known, made, onnx, scalar
from strop.frontend.onnx.ops.hoisting import hoisted, settled
from strop.frontend.onnx.ops.loop_cells import whole_layer
from strop.frontend.onnx.program import OnnxProgram
from strop.frontend.onnx.subgraphs import cut, described

#: rounds times steps of the body; more are not written out
LONGEST_UNROLLED = 240
#: steps of two branches, and elements of their results, of which both are computed
SHORT, FEW = 8, 4096
#: steps, and elements of all that the branches read, up to which computing both takes less time than choosing
LIGHT, LITTLE = 64, 2**18
#: what may fail in the branch that is not taken, or may take long
_NEVER_BOTH = frozenset((
    "If", "Loop", "Scan", "SequenceMap", "Gather", "GatherND", "GatherElements", "ScatterND", "ScatterElements",
    "Scatter", "OneHot", "Compress", "NonZero", "Unique", "NonMaxSuppression", "TopK", "Conv", "ConvTranspose",
    "ConvInteger", "QLinearConv", "LSTM", "GRU", "RNN", "STFT", "DFT", "Resize", "GridSample", "RandomNormal",
    "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli",
))  # fmt: skip
#: rounds that a trace counts before it gives up
MOST_ROUNDS = 100_000
#: rounds of a loop over constants alone, which capture computes
MOST_FOLDED = 5_000


def _number(value: int) -> Tensor:
    return made(torch.tensor, value)


def _true() -> Tensor:
    return made(torch.ones, (), dtype=torch.bool)


def _flag(condition: Tensor, what: str) -> bool:
    return bool(scalar(condition, what))


@onnx("If")
def if_(condition: Tensor, *, then_branch: InterpretedBody, else_branch: InterpretedBody) -> tuple[Any, ...]:
    if known(condition) is None and deferring():
        chosen = _deferred_branch(condition, then_branch, else_branch)
        if chosen is not None:
            return chosen
    return then_branch() if _flag(condition, "the condition") else else_branch()


def _deferred_branch(
    condition: Tensor, then_branch: InterpretedBody, else_branch: InterpretedBody
) -> tuple[Any, ...] | None:
    """Both branches where they are short, else a library node that chooses; None where their results differ in type.

    Single elements of different rank count as alike: what reads them broadcasts.
    """
    bodies = (then_branch, else_branch)
    results = [_dry(body, ()) for body in bodies]
    if any(not isinstance(value, Tensor) for result in results for value in result):
        return None
    if _both(bodies) and all(a.dtype == b.dtype and _alike(a, b) for a, b in zip(*results)):
        shapes = [max((a.shape, b.shape), key=len) for a, b in zip(*results)]
        return tuple(torch.where(condition.reshape(()), a.reshape(shape), b.reshape(shape))
                     for a, b, shape in zip(*results, shapes))  # fmt: skip
    if described(results[0]) != described(results[1]):
        return None
    cuts = [cut(body.program, body.scope, ()) for body in bodies]
    yielded: list[Tensor] = torch.ops.strop.onnx_branch(
        f"{cuts[0].key} {cuts[1].key}", condition, cuts[0].values + cuts[1].values,
        cuts[0].parameters + cuts[1].parameters, [len(cuts[0].values), len(cuts[0].parameters)], described(results[0]),
    )  # fmt: skip
    return tuple(yielded)


def _both(bodies: Sequence[InterpretedBody]) -> bool:
    """Whether to compute both branches: a few steps, or steps that cannot fail on little data."""
    steps = [step for body in bodies for step in body.program.steps]
    if len(steps) <= SHORT:
        return True
    read = [value for body in bodies for value in (*_captured(body), *body.program.constants.values())]
    little = sum(value.numel() for value in read if isinstance(value, Tensor)) <= LITTLE
    return len(steps) <= LIGHT and little and not any(s.op in _NEVER_BOTH or s.function for s in steps)


def _alike(a: Tensor, b: Tensor) -> bool:
    return a.numel() <= FEW and (a.shape == b.shape or a.numel() == b.numel() == 1)


def _dry(body: InterpretedBody, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """A body's results, for the sake of their types; what is traced on the way is used by nobody and vanishes."""
    return body(*inputs)


@onnx("Loop")
def loop(trips: Tensor | None, condition: Tensor | None, *states: Any, body: InterpretedBody) -> tuple[Any, ...]:
    """States carried from round to round, then what each round yields, stacked."""
    most = None if trips is None else known(trips)
    if trips is not None and most is None and not deferring():
        scalar(trips, "the number of rounds")
    if not _traced(trips, condition, *states, *_captured(body)):
        return _take_rounds(None if most is None else int(scalar(most)), condition, states, body)
    limit = None if most is None else int(scalar(most))
    rounds = _count(limit if trips is not None else MOST_ROUNDS, condition, states, body)
    if rounds is None and deferring():
        found = _deferred_loop(limit, condition, states, body)
        if found is not None:
            return found
    if rounds is None:
        raise Unknown(condition if condition is not None else states[0], "when the loop ends")
    recurrent = _recurrent(rounds, states, body)
    if recurrent is not None:
        return recurrent
    tensors = all(isinstance(state, Tensor) for state in states)
    if rounds * len(body.program.steps) <= LONGEST_UNROLLED or not tensors:
        return _take_rounds(rounds, None, states, body)
    found = _library_loop(rounds, [], [], list(states), body, counted=True)
    return found if found is not None else _take_rounds(rounds, None, states, body)


def _recurrent(rounds: int, states: Sequence[Any], body: InterpretedBody) -> tuple[Any, ...] | None:
    """A recurrent layer that was written as a loop."""
    body, varying = _without_invariants(body, states, True)
    found = whole_layer(body, [states[i] for i in varying], rounds, [], counted=True)
    if found is None:
        return None
    last = list(states)
    for i, state in zip(varying, found):
        last[i] = state
    return *last, *found[len(varying) :]


def _take_rounds(
    most: int | None, condition: Tensor | None, states: Sequence[Any], body: InterpretedBody
) -> tuple[Any, ...]:
    """Round after round, here and now."""
    body, varying = _without_invariants(body, states, True)
    results = _rounds(most, condition, [states[i] for i in varying], body)
    last = list(states)
    for i, state in zip(varying, results):
        last[i] = state
    return *last, *results[len(varying) :]


def _rounds(most: int | None, condition: Tensor | None, states: list[Any], body: InterpretedBody) -> tuple[Any, ...]:
    kept, index = list(states), 0
    yielded: list[Sequence[Any]] = []
    going = condition if condition is not None else _true()
    while index != most and (condition is None or _flag(going, "the condition of the loop")):
        rest = body.repeat(index, most, condition is not None or most is None, kept)
        if rest is not None:
            before = [torch.stack(column) for column in zip(*yielded)]
            after = rest[len(kept) :]
            return *rest[: len(kept)], *(map(torch.cat, zip(before, after)) if before else after)
        going, *results = body(_number(index), going, *kept)
        kept = results[: len(kept)]
        yielded.append(results[len(states) :])
        index += 1
        if index >= MOST_FOLDED and is_capturing():
            raise Unsupported(f"a loop over constants of more than {MOST_FOLDED} rounds")
        if condition is None and most is None and not _flag(going, "the condition of the loop"):
            break
    if not yielded:
        return *kept, *_empty_yields(body, kept)
    return *kept, *(torch.stack(column) for column in zip(*yielded))


def _empty_yields(body: InterpretedBody, states: Sequence[Any]) -> list[Tensor]:
    """Stacks of nothing: the shapes are those that one round would yield."""
    count = len(body.outputs) - 1 - len(states)
    if not count:
        return []
    results = body(_number(0), _true(), *states)[1 + len(states) :]
    return [result.new_zeros((0, *result.shape)) for result in results]


def _traced(*values: Any) -> bool:
    flat = [v for value in values for v in (value if isinstance(value, list) else [value])]
    return any(isinstance(v, FakeTensor) for v in flat)


def _captured(body: InterpretedBody) -> list[Any]:
    return [body.scope.values.get(name) for name in body.program.captured]


def _count(most: int | None, condition: Tensor | None, states: Sequence[Any], body: InterpretedBody) -> int | None:
    """How many rounds there are, from the steps that lead to the condition alone; None where data decides."""
    if most is not None and most <= 0:
        return 0
    start = known(condition) if condition is not None else _true()
    if start is None:
        return None
    going: Tensor = start
    if condition is None and most is not None and most < MOST_ROUNDS:
        return most
    program, carried = _leading_to_condition(body.program)
    if program.outputs[0] == program.inputs[1]:
        return (most if most is not None and most < MOST_ROUNDS else None) if scalar(going) else 0
    kept = [states[i] for i in carried]
    if any(not isinstance(k, Tensor) or known(k) is None for k in kept) or most is None:
        return None
    narrowed = replace_program(body, program)
    index = 0
    while scalar(going) and index < most:
        try:
            results = narrowed(_number(index), going, *kept)
        except Exception:  # whatever it raises, it cannot be told beforehand
            return None
        values = [known(r) for r in results if isinstance(r, Tensor)]
        found = [value for value in values if value is not None]
        if len(found) < len(results):
            return None
        going, *kept = found
        index += 1
    if index >= MOST_ROUNDS:
        raise Unsupported(f"a loop of more than {MOST_ROUNDS} rounds")
    return index


def _leading_to_condition(program: OnnxProgram) -> tuple[OnnxProgram, list[int]]:
    """The steps that the condition depends on, through any number of rounds, and the states that these carry."""
    makers = {name: step for step in program.steps for name in step.outputs if name}
    inputs = {name: i for i, name in enumerate(program.inputs[2:])}
    needed: set[str] = set()
    pending = [program.outputs[0]]
    while pending:
        name = pending.pop()
        if name in needed:
            continue
        needed.add(name)
        if name in inputs:
            pending.append(program.outputs[1 + inputs[name]])
        if name in makers:
            pending += [n for n in (*makers[name].inputs, *makers[name].captured) if n]
    carried = [i for name, i in inputs.items() if name in needed]
    steps = tuple(replace(s, dead=[]) for s in program.steps if any(n in needed for n in s.outputs))
    return replace(
        program, steps=steps, inputs=(*program.inputs[:2], *(program.inputs[2 + i] for i in carried)),
        outputs=(program.outputs[0], *(program.outputs[1 + i] for i in carried)), output_types=(),
    ), carried  # fmt: skip


def replace_program(body: InterpretedBody, program: OnnxProgram) -> InterpretedBody:
    return type(body)(program, body.interpreter, body.scope)


def _round_types(inputs: list[Any], states: list[Tensor], skipped: int, body: InterpretedBody) -> list[Tensor] | None:
    """One round's results from the states on; None where their shapes change, so that no program serves every round."""
    results = _dry(body, inputs)
    if any(not isinstance(result, Tensor) for result in results):
        return None
    own = list(results[skipped:])
    return own if described(own[: len(states)]) == described(states) else None


def _library_loop(
    rounds: int, scanned: list[Tensor], axes: list[int], states: list[Tensor], body: InterpretedBody, *, counted: bool
) -> tuple[Any, ...] | None:
    body, varying = _without_invariants(body, states, counted)
    body = hoisted(body, frozenset((*body.program.captured, *body.program.constants)))
    if counted:  # so many rounds, whatever the condition says
        unasked = replace(body.program, outputs=body.program.outputs[1:], output_types=())
        body = type(body)(unasked, body.interpreter, body.scope)
    parts = [t.select(a if a >= 0 else ~a, 0) for t, a in zip(scanned, axes)]
    head: list[Any] = [_number(0), _true()] if counted else []
    carried = [states[i] for i in varying]
    results = _round_types([*head, *carried, *parts], carried, 0, body)
    if results is None:
        return None
    count = len(carried)
    stacked = [result.new_empty((rounds, *result.shape)) for result in results[count:]]
    pieces = cut(body.program, body.scope, [*head, *carried, *parts])
    yielded: list[Tensor] = torch.ops.strop.onnx_loop(
        pieces.key, rounds, counted, carried, scanned, axes, pieces.values, pieces.parameters,
        described([*results[:count], *stacked]),
    )  # fmt: skip
    last = list(states)
    for i, state in zip(varying, yielded):
        last[i] = state
    return *last, *yielded[count:]


def _without_invariants(
    body: InterpretedBody, states: Sequence[Any], counted: bool
) -> tuple[InterpretedBody, list[int]]:
    """The body with states that it hands on untouched as values around it, and the places of the others."""
    program = body.program
    ins, outs = (2, 1) if counted else (0, 0)
    varying = [i for i in range(len(states)) if program.outputs[outs + i] != program.inputs[ins + i]]
    if len(varying) == len(states):
        return body, varying
    fixed = {program.inputs[ins + i]: state for i, state in enumerate(states) if i not in varying}
    narrowed = replace(
        program,
        inputs=(*program.inputs[:ins], *(program.inputs[ins + i] for i in varying),
                *program.inputs[ins + len(states) :]),
        outputs=(*program.outputs[:outs], *(program.outputs[outs + i] for i in varying),
                 *program.outputs[outs + len(states) :]),
        captured=(*program.captured, *fixed), output_types=(),
    )  # fmt: skip
    around = body.scope.inner()
    around.values.update(fixed)
    return type(body)(narrowed, body.interpreter, around), varying


def _deferred_loop(
    limit: int | None, condition: Tensor | None, states: Sequence[Any], body: InterpretedBody
) -> tuple[Any, ...] | None:
    """A loop that ends when data says so, if it yields nothing but its states."""
    if condition is None or len(body.outputs) != 1 + len(states) or not all(isinstance(s, Tensor) for s in states):
        return None
    body, varying = _without_invariants(body, states, True)
    body = settled(body)
    carried = [states[i] for i in varying]
    head: list[Any] = [_number(0), condition]
    results = _round_types([*head, *carried], carried, 1, body)
    if results is None:
        return None
    pieces = cut(body.program, body.scope, [*head, *carried])
    most = -1 if limit is None else limit
    yielded: list[Tensor] = torch.ops.strop.onnx_while(
        pieces.key, most, condition, carried, pieces.values, pieces.parameters, described(results)
    )
    last = list(states)
    for i, state in zip(varying, yielded):
        last[i] = state
    return tuple(last)


@onnx("Scan", until=8)
def scan_8(
    sequence_lens: Tensor | None, *inputs: Tensor, body: InterpretedBody, num_scan_inputs: int,
    directions: Sequence[int] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Opset 8 has a batch before everything: each of its elements is scanned alone."""
    if sequence_lens is not None:
        raise Unsupported("sequences of different lengths")
    batch = inputs[0].shape[0]
    per_element = [
        scan(*(x[i] for x in inputs), body=body, num_scan_inputs=num_scan_inputs, scan_input_directions=directions)
        for i in range(batch)
    ]
    return tuple(torch.stack(column) for column in zip(*per_element))


@onnx("Scan", since=9)
def scan(
    *inputs: Tensor, body: InterpretedBody, num_scan_inputs: int, scan_input_axes: Sequence[int] | None = None,
    scan_input_directions: Sequence[int] | None = None, scan_output_axes: Sequence[int] | None = None,
    scan_output_directions: Sequence[int] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """A loop over slices of inputs. Direction 1 reads an input, or stacks an output, from its end."""
    if not 0 < num_scan_inputs <= len(inputs):
        raise Unsupported(f"{num_scan_inputs} of {len(inputs)} inputs are scanned")
    states, scanned = list(inputs[:-num_scan_inputs]), list(inputs[-num_scan_inputs:])
    axes = [a % t.dim() for a, t in zip(scan_input_axes or [0] * len(scanned), scanned)]
    backwards = list(scan_input_directions or [0] * len(scanned))
    rounds = scanned[0].shape[axes[0]]
    if any(t.shape[a] != rounds for t, a in zip(scanned, axes)):
        raise Unsupported("scanned inputs of different lengths")
    places = [~a if back else a for a, back in zip(axes, backwards)]
    found = _sliding_window(rounds, scanned, places, states, body)
    traced = _traced(*inputs, *_captured(body))
    if found is None and traced:
        rows = [t.movedim(a, 0) if a >= 0 else t.movedim(~a, 0).flip(0) for t, a in zip(scanned, places)]
        layer = whole_layer(body, states, rounds, rows, counted=False)
        found = tuple(layer) if layer is not None else None
    if found is None and traced and rounds * len(body.program.steps) > LONGEST_UNROLLED:
        found = _library_loop(rounds, scanned, places, states, body, counted=False)
    if found is None:
        found = _scan_rounds(rounds, scanned, places, states, body)
    results = list(found[: len(states)])
    for i, column in enumerate(found[len(states) :]):
        if scan_output_directions and scan_output_directions[i]:
            column = column.flip(0)
        axis = scan_output_axes[i] if scan_output_axes else 0
        results.append(column.movedim(0, axis) if axis else column)
    return tuple(results)


#: these only move elements, so that one trial on distinct numbers shows what they do to any
_MOVES = frozenset(("Concat", "Slice", "Identity", "Split"))


def _sliding_window(
    rounds: int, scanned: list[Tensor], places: list[int], states: list[Tensor], body: InterpretedBody
) -> tuple[Any, ...] | None:
    """The idiom by which exporters cut a signal into overlapping frames, as windows of one long signal.

    Each round yields the state followed by the next piece, and keeps the end of that as its new state.
    """
    one_each = len(states) == len(scanned) == 1 and len(body.outputs) == 2 and places[0] >= 0
    if not one_each or rounds < 2 or any(step.op not in _MOVES for step in body.program.steps):
        return None
    state, piece = states[0], scanned[0].select(places[0], 0)
    differing = [d for d, (a, b) in enumerate(zip(state.shape, piece.shape)) if a != b]
    if state.dim() != piece.dim() or len(differing) != 1:
        return None
    axis, step = differing[0], piece.shape[differing[0]]
    outer = {name: known(body.scope.values[name]) for name in body.program.captured}
    if any(value is None for value in outer.values()):
        return None

    def trial() -> Tensor:
        """Whether a round on distinct numbers does what the idiom does."""
        before = torch.arange(state.numel()).reshape(state.shape)
        after = torch.arange(piece.numel()).reshape(piece.shape) + state.numel()
        kept, frame = type(body)(body.program, Interpreter(), ValueScope(dict(outer), {}))(before, after)
        whole = torch.cat([before, after], axis)
        return torch.tensor(
            torch.equal(frame, whole) and torch.equal(kept, whole.narrow(axis, step, state.shape[axis]))
        )

    if not scalar(made(trial)):
        return None
    pieces = scanned[0].movedim(places[0], axis).flatten(axis, axis + 1)
    signal = torch.cat([state, pieces], axis)
    frames = signal.unfold(axis, state.shape[axis] + step, step).movedim(axis, 0)
    return signal.narrow(axis, rounds * step, state.shape[axis]), frames.movedim(-1, axis + 1)


def _scan_rounds(
    rounds: int, scanned: list[Tensor], places: list[int], states: list[Tensor], body: InterpretedBody
) -> tuple[Any, ...]:
    kept, yielded = list(states), []
    for index in range(rounds):
        parts = [t.select(a, index) if a >= 0 else t.select(~a, rounds - 1 - index) for t, a in zip(scanned, places)]
        results = body(*kept, *parts)
        kept = list(results[: len(states)])
        yielded.append(results[len(states) :])
    if yielded:
        return *kept, *(torch.stack(column) for column in zip(*yielded))
    parts = [t.new_zeros([e for d, e in enumerate(t.shape) if d != (a if a >= 0 else ~a)])
             for t, a in zip(scanned, places)]  # fmt: skip
    empty = body(*kept, *parts)[len(states) :]
    return *kept, *(result.new_zeros((0, *result.shape)) for result in empty)
