"""Models that no trace can hold whole: some step's result has a shape, or a number of rounds, that data decides.

Such steps and everything that depends on them run step by step; all the rest is compiled as one part beforehand, and
what comes behind them as another part where it is worth it. Loops among them run compiled bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from strop.capture.onnx import Body, Failed, Interpreter, NeedsValues, OnnxModule, Port, Scope, capture, lookup
from strop.capture.onnx_ops.element_types import CARRIERS
from strop.capture.onnx_parts import Part
from strop.capture.onnx_program import Program, Step, Stored

#: a part without any of these is not worth compiling anew for every shape
HEAVY = frozenset((
    "Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "FusedConv", "MatMul", "MatMulInteger", "QLinearMatMul",
    "Gemm", "FusedMatMul", "FusedGemm", "Einsum", "LSTM", "GRU", "RNN", "Attention", "MultiHeadAttention", "STFT",
    "DFT", "Loop", "Scan", "Resize", "GridSample",
))  # fmt: skip
#: steps that may turn out to be untraceable one after the other
MOST_HOSTS = 32
#: shapes of a loop's states that its body is compiled for
MOST_FORMS = 4

Call = Callable[..., Any]
Compile = Callable[[Part], Call]


class CompiledBody(Body):
    """A loop's body that runs as a compiled part; values around it that data decides are further inputs.

    Where its inputs have other shapes in every round (a state that grows), the first few are compiled for.
    """

    def __init__(self, program: Program, interpreter: Stepwise, scope: Scope) -> None:
        super().__init__(program, interpreter, scope)
        self.call, self.around = interpreter.compiled(program, scope)
        self.forms = interpreter.forms.setdefault(id(program.steps), set())

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        form = tuple(value.shape if isinstance(value, Tensor) else None for value in inputs)
        if form not in self.forms:
            if len(self.forms) == MOST_FORMS:
                return super().__call__(*inputs)
            self.forms.add(form)
        results = self.call(*inputs, *(self.scope.values[name] for name in self.around))
        return (results,) if len(self.outputs) == 1 else tuple(results)


class Stepwise(Interpreter):
    """Interprets a model's steps on real tensors, with compiled bodies where these do real work."""

    def __init__(self, model: OnnxModule, compile: Compile) -> None:
        super().__init__()
        self.model = model
        self.compile = compile
        self.bodies: dict[Hashable, tuple[Call, tuple[str, ...]]] = {}
        self.heavy: dict[int, bool] = {}
        self.forms: dict[int, set[Hashable]] = {}
        self.plain: dict[int, bool] = {}
        self.known_attributes: dict[int, dict[str, Any]] = {}
        self.fixed = {id(value) for value in model.program.constants.values()}

    def body(self, program: Program, scope: Scope) -> Body:
        key = id(program.steps)
        if key not in self.heavy:
            self.heavy[key] = any(step.op in HEAVY for step in _all_steps(program))
        return CompiledBody(program, self, scope) if self.heavy[key] else super().body(program, scope)

    def take(self, step: Step, scope: Scope) -> None:
        """One step; those whose element types torch has, and that are no graphs, skip what only the others need."""
        plain = self.plain.get(id(step))
        if plain is None:
            plain = self.plain[id(step)] = _is_plain(step)
        if not plain or scope.types:
            self._step(step, scope)
            return
        values = scope.values
        try:
            result = step.operator.function(  # type: ignore[union-attr]
                *[values[name] if name else None for name in step.inputs], **self.attributes(step)
            )
        except Exception:  # once more, for the message
            self._step(step, scope)
            return
        values.update(zip(step.outputs, result if isinstance(result, tuple) else (result,)))

    def attributes(self, step: Step) -> dict[str, Any]:
        found = self.known_attributes.get(id(step))
        if found is None:
            given = {name: v.value if isinstance(v, Stored) else v for name, v in step.attributes.items()}
            found = self.known_attributes[id(step)] = given
        return found

    def compiled(self, program: Program, scope: Scope) -> tuple[Call, tuple[str, ...]]:
        """The part for a body, and the names that are its further inputs. Initialisers around it go into the part."""
        key = (id(program.steps), program.inputs, program.outputs)
        if key not in self.bodies:
            outer = {name: scope.values[name] for name in program.captured}
            held = {name: value for name, value in outer.items() if isinstance(value, nn.Parameter)}
            constants = {name: value for name, value in outer.items() if id(value) in self.fixed and name not in held}
            around = tuple(name for name in outer if name not in held and name not in constants)
            types = {**program.constant_types, **{n: scope.types[n] for n in constants if n in scope.types}}
            inner = replace(
                program, inputs=(*program.inputs, *around), captured=(), constant_types=types,
                constants={**program.constants, **constants},
            )  # fmt: skip
            ports = [Port(n, scope.types.get(n, 0), None, "tensor") for n in inner.inputs]
            part = Part(inner, ports, held, program.name or "body", shared=True, inner=True)
            self.bodies[key] = self.compile(part), around
        return self.bodies[key]


def _is_plain(step: Step) -> bool:
    graphs = any(isinstance(value, Program) for value in step.attributes.values())
    carried = any(fixed in CARRIERS for fixed in step.typing.fixed)
    return step.operator is not None and not step.operator.takes_node and not graphs and not carried


def _all_steps(program: Program) -> Iterator[Step]:
    for step in program.steps:
        yield step
        for inner in (*step.attributes.values(), step.function):
            if isinstance(inner, Program):
                yield from _all_steps(inner)


def _reads(step: Step) -> tuple[str, ...]:
    return tuple(n for n in (*step.inputs, *step.captured) if n)


def part_of(model: OnnxModule, program: Program, name: str, *, inner: bool) -> Part:
    """A program cut from a model, on the model's own parameters and constants."""
    read = {n for step in program.steps for n in _reads(step)} | set(program.outputs)
    shared = model.program.constants
    constants = {**{n: shared[n] for n in read if n in shared and n not in model.keys}, **program.constants}
    types = {n: t for n, t in {**model.program.constant_types, **program.constant_types}.items() if n in constants}
    held = {n: lookup(model, key) for n, key in model.keys.items() if n in read and n not in program.constants}
    whole = replace(
        program, constants=constants, constant_types=types, steps=tuple(replace(s, dead=[]) for s in program.steps)
    )
    ports = [Port(n, 0, None, "tensor") for n in program.inputs]
    parameters = {n: p for n, p in held.items() if isinstance(p, nn.Parameter)}
    return Part(whole, ports, parameters, name, shared=True, inner=inner)


@dataclass(frozen=True)
class Stages:
    """How a model is divided: what is compiled, what runs step by step, what is compiled after that."""

    head: Program
    steps: tuple[Step, ...]
    tail: Program | None


def divide(program: Program, hosts: set[int], inputs: Sequence[str]) -> Stages:
    """Everything that does not depend on the hosts comes first."""
    late = set(hosts)
    made = {name for i in hosts for name in program.steps[i].outputs if name}
    for index, step in enumerate(program.steps):
        if index in late or any(name in made for name in _reads(step)):
            late.add(index)
            made.update(name for name in step.outputs if name)
    early = [step for i, step in enumerate(program.steps) if i not in late]
    behind = [program.steps[i] for i in sorted(late)]
    worth = next((k for k, step in enumerate(behind) if step.op in HEAVY and not _is_host(step, program, hosts)), None)
    stepwise, rest = (behind, []) if worth is None else (behind[:worth], behind[worth:])
    needed = {name for step in behind for name in _reads(step)} | set(program.outputs)
    head = _section(program, early, inputs, [n for s in early for n in s.outputs if n in needed])
    if not rest:
        return Stages(head, tuple(stepwise), None)
    fresh = {name for step in (*early, *stepwise) for name in step.outputs if name} | set(inputs)
    wanted = {name for step in rest for name in _reads(step)} | set(program.outputs)
    return Stages(head, tuple(stepwise), _section(program, rest, sorted(fresh & wanted), program.outputs))


def _is_host(step: Step, program: Program, hosts: set[int]) -> bool:
    return any(program.steps[i] is step for i in hosts)


def _section(program: Program, steps: Sequence[Step], inputs: Sequence[str], outputs: Sequence[str]) -> Program:
    return replace(program, steps=tuple(steps), inputs=tuple(inputs), outputs=tuple(outputs), output_types=(),
                   constants={}, constant_types={})  # fmt: skip


def place_of(program: Program, step: Step) -> int | None:
    """The position of the step, or of the one that holds it in a graph of its own."""
    for index, own in enumerate(program.steps):
        if own is step or (own.place == step.place and own.outputs == step.outputs):
            return index
        if any(inner.outputs == step.outputs and inner.place == step.place for inner in _inner_steps(own)):
            return index
    return None


def _inner_steps(step: Step) -> Iterator[Step]:
    for inner in (*step.attributes.values(), step.function):
        if isinstance(inner, Program):
            yield from _all_steps(inner)


class Staged:
    """A model that runs in stages."""

    def __init__(self, model: OnnxModule, args: Sequence[Any], needs: NeedsValues, compile: Compile) -> None:
        """Raises `NeedsValues` again where the model cannot be divided."""
        self.model = model
        self.interpreter = Stepwise(model, compile)
        names = [port.name for port in model.inputs[: len(args)]]
        hosts: set[int] = set()
        program = model.program
        while True:
            failed = needs.__cause__
            index = place_of(program, failed.step) if isinstance(failed, Failed) else None
            if index is None or index in hosts or len(hosts) == MOST_HOSTS:
                raise needs
            hosts.add(index)
            self.stages = divide(program, hosts, names)
            head = part_of(model, self.stages.head, model.name, inner=True)
            try:
                if self.stages.head.outputs:
                    with torch.inference_mode(False), torch.no_grad():
                        capture(head, args, deferring=True)
                break
            except NeedsValues as again:
                needs = again
        self.head = compile(head) if self.stages.head.steps else None
        tail = self.stages.tail
        self.tail = compile(part_of(model, tail, model.name, inner=False)) if tail is not None else None
        self.reason = needs.problem

    def __call__(self, *args: Any) -> Any:
        model, stages = self.model, self.stages
        scope = model.scope(args, {name: lookup(model, key) for name, key in model.keys.items()})
        if self.head is not None and stages.head.outputs:
            results = self.head(*args)
            results = (results,) if len(stages.head.outputs) == 1 else results
            scope.values.update(zip(stages.head.outputs, results))
        for step in stages.steps:
            self.interpreter.take(step, scope)
        if self.tail is not None and stages.tail is not None:
            return self.tail(*(scope.values[name] for name in stages.tail.inputs))
        results = [scope.values[name] for name in model.program.outputs]
        return results[0] if len(results) == 1 else tuple(results)
