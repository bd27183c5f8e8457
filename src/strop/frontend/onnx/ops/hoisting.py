"""Work that a loop's body does on its own slice of something fixed, done for all rounds at once before the loop.

A recurrent network that was exported as a loop reads one time step per round and multiplies it by its weights; outside
the loop that is one large product instead of many small ones, and the weights are read once.

    loop i:  x_i = Gather(x, i);  y_i = MatMul(x_i, w);  h = f(y_i, h)
    →        y = MatMul(x, w);    loop i:  y_i = Gather(y, i);  h = f(y_i, h)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor

from strop.frontend.onnx.interpreter import InterpretedBody, ValueScope
from strop.frontend.onnx.ops import known
from strop.frontend.onnx.program import OnnxProgram, OnnxStep

#: operators that treat every slice of a new first dimension alike, if their other inputs have no more dimensions
_POINTWISE = frozenset((
    "Add", "Sub", "Mul", "Div", "Neg", "Abs", "Not", "And", "Or", "Cast", "Relu", "Sigmoid", "Tanh", "Exp", "Identity",
    "Clip", "Sqrt",
))  # fmt: skip


def hoisted(body: InterpretedBody, fixed: frozenset[str]) -> InterpretedBody:
    """The body with such work taken out; `fixed` are the names that stand for the same value in every round."""
    scope = body.scope.inner()
    slices: dict[str, tuple[OnnxStep, Tensor]] = {}  # a name of the body → the step that reads its slice, the whole
    steps: list[OnnxStep] = []
    for step in body.program.steps:
        whole = _whole(step, slices, fixed, scope)
        if whole is None:
            steps.append(step)
        else:
            slices[step.outputs[0]] = whole
    program = body.program
    used = {name for step in steps for name in (*step.inputs, *step.captured)} | set(program.outputs)
    readers, outside = [], []
    for name, (read, value) in slices.items():
        if name not in used:
            continue
        source = read.inputs[0] if value is scope.values.get(read.inputs[0]) else f"{name} of all rounds"
        scope.values[source] = value
        outside.append(source)
        readers.append(replace(read, inputs=(source, read.inputs[1]), outputs=(name,), dead=[]))
    if len(readers) == len(program.steps) - len(steps):
        return body
    ordered = _in_order(readers, steps)
    narrowed = replace(program, steps=tuple(replace(s, dead=[]) for s in ordered),
                       captured=tuple(dict.fromkeys((*program.captured, *outside))))  # fmt: skip
    return type(body)(_trimmed(narrowed), body.interpreter, scope)


def settled(body: InterpretedBody) -> InterpretedBody:
    """The body without the steps that compute the same in every round: they run once, around it."""
    program, scope = body.program, body.scope.inner()
    scope.values.update(program.constants)
    fixed = {*program.captured, *program.constants}
    own = {name for step in program.steps for name in step.outputs}
    made: list[str] = []
    left: list[OnnxStep] = []
    for step in program.steps:
        plain = step.operator is not None and not step.captured and not step.op.startswith(("Random", "Bernoulli"))
        same = all(name in fixed for name in step.inputs if name)
        if not plain or not same or not any(_brought(scope.values[name]) for name in step.inputs if name):
            left.append(step)  # what depends on parameters alone is done once in any case, and better
            continue
        body.interpreter._step(step, scope)
        fixed.update(step.outputs)
        made += [name for name in step.outputs if name]
    if not made:
        return body
    kept = tuple(dict.fromkeys((*program.captured, *(name for name in made if name in own))))
    narrowed = replace(program, steps=tuple(replace(s, dead=[]) for s in left), captured=kept)
    return type(body)(_trimmed(narrowed), body.interpreter, scope)


def _brought(value: Any) -> bool:
    return isinstance(value, Tensor) and known(value) is None


def _whole(
    step: OnnxStep, slices: dict[str, tuple[OnnxStep, Tensor]], fixed: frozenset[str], scope: ValueScope
) -> tuple[OnnxStep, Tensor] | None:
    """What the step's result is a slice of, and how it is read; None for a step that stays."""
    if step.operator is None or len(step.outputs) != 1:
        return None
    if step.op == "Gather" and step.attributes.get("axis", 0) == 0 and step.inputs[0] in fixed:
        value = scope.values[step.inputs[0]]
        is_slice = isinstance(value, Tensor) and step.inputs[1] not in fixed and step.inputs[1] not in slices
        return (step, value) if is_slice else None
    sources = [name for name in step.inputs if name in slices]
    others = [name for name in step.inputs if name and name not in slices]
    if not sources or any(name not in fixed for name in others):
        return None
    reads = {slices[name][0].inputs[1] for name in sources}
    if len(reads) != 1 or not (step.op in _POINTWISE or (step.op == "MatMul" and step.inputs[0] in slices)):
        return None
    values = [slices[name][1] if name in slices else scope.values[name] for name in step.inputs]
    dims = {slices[name][1].dim() for name in sources}
    rank = next(iter(dims)) - 1
    if len(dims) != 1 or any(not isinstance(v, Tensor) for v in values) or step.operator.takes_node:
        return None
    if step.op == "MatMul" and (rank < 2 or values[1].dim() != 2 or step.inputs[1] in slices):
        return None
    if any(scope.values[name].dim() > rank for name in others) and step.op != "MatMul":
        return None
    made: Any = step.operator.function(*values, **step.attributes)
    return slices[sources[0]][0], made


def _in_order(readers: list[OnnxStep], steps: list[OnnxStep]) -> list[OnnxStep]:
    """Each reader as soon as its index is there."""
    made = {name for step in steps for name in step.outputs}
    ordered = [reader for reader in readers if reader.inputs[1] not in made]
    late = [reader for reader in readers if reader.inputs[1] in made]
    for step in steps:
        ordered.append(step)
        ordered += [reader for reader in late if reader.inputs[1] in step.outputs]
    return ordered


def _trimmed(program: OnnxProgram) -> OnnxProgram:
    """Without captured names that nothing reads any more."""
    read = {name for step in program.steps for name in (*step.inputs, *step.captured)} | set(program.outputs)
    return replace(program, captured=tuple(name for name in program.captured if name in read))
