"""Models that no trace can hold whole: some step's result has a shape, or a number of rounds, that data decides.

What does not depend on such steps is compiled as one part beforehand. What comes behind them runs step by step at
first; a run shows how to divide it into sections, of which the longer ones are compiled (`Partitions`). Loops run
compiled bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from strop.frontend.onnx.capture import NeedsValues, capture
from strop.frontend.onnx.element_types import CARRIERS, OF_DTYPE
from strop.frontend.onnx.interpreter import InterpretedBody, Interpreter, StepFailed, ValueScope
from strop.frontend.onnx.module import OnnxModule, Port, lookup
from strop.frontend.onnx.ops import OnnxCall as Note
from strop.frontend.onnx.program import OnnxProgram, OnnxStep, Stored
from strop.frontend.onnx.subgraphs import Rounds, SubgraphModule, repeat
from strop.runtime.onnx.growing_state import divided, recorded
from strop.runtime.onnx.partitions import (
    DATA_DEPENDENT,
    HEAVY,
    LOOKING,
    MOST_SHAPES,
    REPEATING,
    PartitionCall,
    Partitions,
    reads,
)

#: steps that may turn out to be untraceable one after the other
MOST_HOSTS = 32
#: shapes of a loop's states that its body is compiled for
MOST_FORMS = 4

Compile = Callable[..., PartitionCall]
Tell = Callable[..., None]  # (what is not done natively, where)


class CompiledBody(InterpretedBody):
    """A loop's body that runs as a compiled part; values around it that data decides are further inputs.

    Made anew for every run of the loop. Shapes of the states that come again are compiled for; where they change from
    round to round, the body is divided (`Partitions`). The bodies of branches are compiled at once.
    """

    def __init__(self, program: OnnxProgram, interpreter: Stepwise, scope: ValueScope) -> None:
        super().__init__(program, interpreter, scope)
        self.host = interpreter
        self.ways = interpreter.ways.setdefault(
            (id(program.steps), program.inputs, program.outputs), BodyExecution(program)
        )
        self.last: tuple[Hashable, dict[str, Any]] | None = None
        self.shared: dict[str, Any] | None = None

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        ways = self.ways
        if ways.sections is not None:
            if self.shared is None:
                self.shared = ways.sections.settled(self.scope)
            return ways.sections.run({**self.shared, **dict(zip(self.inputs, inputs))})
        form = tuple([value.shape if isinstance(value, Tensor) else None for value in inputs])
        again = self.last is None and form in ways.seen
        if (again or not inputs) and len(ways.forms) < MOST_FORMS:
            ways.forms.add(form)
        if form in ways.forms:
            call, around = self.host.compiled(self.program, self.scope)
            results = call(*inputs, *[self.scope.values[name] for name in around])
            return (results,) if len(self.outputs) == 1 else tuple(results)
        values = recorded(self.host, self.program, self.scope, inputs)
        if self.last is None and len(ways.seen) < MOST_FORMS:
            ways.seen.add(form)
        if self.last is not None and form == self.last[0]:
            if len(ways.forms) < MOST_FORMS:
                ways.forms.add(form)
        elif self.last is not None:
            ways.sections = divided(self.host, self.program, self.scope, self.last[1], values)
        self.last = form, values
        return tuple([values[name] for name in self.outputs])

    def repeat(self, first: int, most: int | None, watched: bool, states: Sequence[Any]) -> list[Tensor] | None:
        """Natively, where the body is compiled for these shapes; a body that fails is run round by round again."""
        if not self.ways.forms or not all(isinstance(state, Tensor) for state in states):
            return None
        form = (torch.Size(()), torch.Size(()), *(state.shape for state in states))
        if form not in self.ways.forms:
            return None
        call, around = self.host.compiled(self.program, self.scope)
        values = [self.scope.values[name] for name in around]
        try:
            found = repeat(call, Rounds(first, most, True, True, watched, states, (), values))
        except IndexError:
            self.host.tell("a loop ran round by round: an index left its range", self.program.name)
            return None
        return None if found is None else found[1]


@dataclass
class BodyExecution:
    """How a body runs, as far as its loops have shown it: the shapes that it is compiled for, or its sections."""

    program: OnnxProgram
    seen: set[Hashable] = field(default_factory=set)  # shapes of first rounds
    forms: set[Hashable] = field(default_factory=set)
    sections: Partitions | None = None


class Stepwise(Interpreter):
    """Interprets a model's steps on real tensors, with compiled bodies where these do real work."""

    def __init__(self, model: OnnxModule, compile: Compile, tell: Tell) -> None:
        super().__init__()
        self.model = model
        self._compile = compile
        self.tell = tell
        self.bodies: dict[Hashable, tuple[PartitionCall, tuple[str, ...]]] = {}
        self.heavy: dict[int, bool] = {}
        self.ways: dict[Hashable, BodyExecution] = {}
        self.known_ways: dict[int, Way] = {}
        given = {port.name for port in model.inputs}
        self.fixed = {id(value) for name, value in model.program.constants.items() if name not in given}

    def body(self, program: OnnxProgram, scope: ValueScope) -> InterpretedBody:
        key = id(program.steps)
        if key not in self.heavy:
            self.heavy[key] = any(step.op in HEAVY for step in _all_steps(program))
        return CompiledBody(program, self, scope) if self.heavy[key] else super().body(program, scope)

    def take(self, step: OnnxStep, scope: ValueScope) -> None:
        """One step; those whose element types torch has skip what only the others need."""
        way = self.known_ways.get(id(step))
        if way is None:
            way = self.known_ways[id(step)] = self._way(step)
        if way.call is None or scope.types:
            self._step(step, scope)
            return
        values = scope.values
        try:
            result = way.call(values)
        except Exception as error:  # once more, for the message
            self._step(step, scope)
            self.known_ways[id(step)] = Way(step)
            self.tell(f"a step takes the long way: {type(error).__name__}: {error}", step.place)
            return
        if type(result) is tuple:
            values.update(zip(step.outputs, result))
        else:
            values[step.outputs[0]] = result

    def _way(self, step: OnnxStep) -> Way:
        operator, inputs = step.operator, step.inputs
        graphs = any(isinstance(value, OnnxProgram) for value in step.attributes.values())
        if operator is None or any(fixed in CARRIERS for fixed in step.typing.fixed):
            return Way(step)
        if graphs:
            light = step.op == "If" and not any(inner.op in HEAVY for inner in _inner_steps(step))
            return Way(step, (lambda values: self._branch(step, values)) if light else None)
        given = {name: v.value if isinstance(v, Stored) else v for name, v in step.attributes.items()}
        function = operator.function
        if operator.takes_node:
            return Way(step, _noting(step, given))
        if "" in inputs:
            return Way(step, lambda values: function(*[values[n] if n else None for n in inputs], **given))
        if len(inputs) == 1:
            only = inputs[0]
            return Way(step, lambda values: function(values[only], **given))
        return Way(step, lambda values: function(*[values[n] for n in inputs], **given))

    def _branch(self, step: OnnxStep, values: MutableMapping[str, Any]) -> tuple[Any, ...]:
        (condition,) = [values[name] for name in step.inputs]
        program: OnnxProgram = step.attributes["then_branch" if bool(condition) else "else_branch"]
        own = {name: values[name] for name in program.captured}
        own.update(program.constants)
        scope = ValueScope(own, {})
        for inner in program.steps:
            self.take(inner, scope)
        return tuple([own[name] for name in program.outputs])

    def compile(self, part: SubgraphModule, bound: set[int] | None = None, variants: int = 0) -> PartitionCall:
        """A part compiled; the values of the `bound` inputs decide its program."""
        return self._compile(part, bound, variants)

    def compiled(self, program: OnnxProgram, scope: ValueScope) -> tuple[PartitionCall, tuple[str, ...]]:
        """The compiled part for a body, and the names that are its further inputs."""
        key = (id(program.steps), program.inputs, program.outputs)
        if key not in self.bodies:
            part, around = self.part_for(program, scope)
            self.bodies[key] = self.compile(part), around
        return self.bodies[key]

    def part_for(self, program: OnnxProgram, scope: ValueScope) -> tuple[SubgraphModule, tuple[str, ...]]:
        """A body as a part, and the names that are its further inputs. Initialisers around it go into the part."""
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
        return SubgraphModule(inner, ports, held, program.name or "body", shared=True, inner=True), around


@dataclass(frozen=True)
class Way:
    """The short way of a step: its result from the values by name; None where only the long one will do."""

    step: OnnxStep
    call: Callable[[MutableMapping[str, Any]], Any] | None = None


def _noting(step: OnnxStep, attributes: Mapping[str, Any]) -> Callable[[MutableMapping[str, Any]], Any]:
    """The short way of an operator that asks for the element types of its node."""
    assert step.operator is not None
    function, inputs = step.operator.function, step.inputs
    notes: dict[Hashable, Note] = {}

    def call(values: MutableMapping[str, Any]) -> Any:
        given = [values[name] if name else None for name in inputs]
        key = tuple([value.dtype if isinstance(value, Tensor) else None for value in given])
        note = notes.get(key)
        if note is None:
            types = tuple(OF_DTYPE.get(dtype, 0) if dtype is not None else 0 for dtype in key)
            results = tuple(step.typing.of(i, types) for i in range(len(step.outputs)))
            note = notes[key] = Note(step.path, step.op, step.opset, step.outputs, {}, types, results)
        return function(*given, **attributes, node=note)

    return call


def _all_steps(program: OnnxProgram) -> Iterator[OnnxStep]:
    for step in program.steps:
        yield step
        for inner in (*step.attributes.values(), step.function):
            if isinstance(inner, OnnxProgram):
                yield from _all_steps(inner)


def part_of(model: OnnxModule, program: OnnxProgram, name: str, *, inner: bool) -> SubgraphModule:
    """A program cut from a model, on the model's own parameters and constants."""
    read = {n for step in program.steps for n in reads(step)} | set(program.outputs)
    shared = model.program.constants
    constants = {**{n: shared[n] for n in read if n in shared and n not in model.keys}, **program.constants}
    types = {n: t for n, t in {**model.program.constant_types, **program.constant_types}.items() if n in constants}
    held = {n: lookup(model, key) for n, key in model.keys.items() if n in read and n not in program.constants}
    whole = replace(
        program, constants=constants, constant_types=types, steps=tuple(replace(s, dead=[]) for s in program.steps)
    )
    ports = [Port(n, 0, None, "tensor") for n in program.inputs]
    parameters = {n: p for n, p in held.items() if isinstance(p, nn.Parameter)}
    return SubgraphModule(whole, ports, parameters, name, shared=True, inner=inner)


@dataclass(frozen=True)
class DividedProgram:
    """How a model is divided: what is compiled first, and what comes behind the steps that data decides."""

    head: OnnxProgram
    rest: OnnxProgram


def divide(program: OnnxProgram, hosts: set[int], inputs: Sequence[str]) -> DividedProgram:
    """Everything that does not depend on the hosts comes first."""
    late = set(hosts)
    made = {name for i in hosts for name in program.steps[i].outputs if name}
    for index, step in enumerate(program.steps):
        if index in late or any(name in made for name in reads(step)):
            late.add(index)
            made.update(name for name in step.outputs if name)
    late |= _spreading(program, late)
    early = [step for i, step in enumerate(program.steps) if i not in late]
    behind = [program.steps[i] for i in sorted(late)]
    needed = {name for step in behind for name in reads(step)} | set(program.outputs)
    fresh = [n for step in early for n in step.outputs if n in needed]
    head = replace(program, steps=tuple(early), inputs=tuple(inputs), outputs=tuple(fresh), output_types=(),
                   constants={}, constant_types={})  # fmt: skip
    taken = tuple(n for n in program.constants if n in needed and n not in inputs)
    rest = replace(head, steps=tuple(behind), inputs=(*inputs, *fresh), outputs=program.outputs, captured=taken)
    return DividedProgram(head, rest)


def _spreading(program: OnnxProgram, late: set[int]) -> set[int]:
    """Steps that only repeat elements for late ones, and what they alone look at: nobody needs to see all of that."""
    readers: dict[str, set[int]] = {}
    for index, step in enumerate(program.steps):
        for name in reads(step):
            readers.setdefault(name, set()).add(index)
    moved: set[int] = set()
    for index in reversed(range(len(program.steps))):
        step = program.steps[index]
        wanted = late | moved if step.op in REPEATING else moved
        made = [name for name in step.outputs if name]
        seen = {reader for name in made for reader in readers.get(name, ())}
        movable = step.op in REPEATING or step.op in LOOKING
        if index not in late and movable and seen and seen <= wanted and not set(made) & set(program.outputs):
            moved.add(index)
    return moved


def place_of(program: OnnxProgram, step: OnnxStep) -> int | None:
    """The position of the step, or of the one that holds it in a graph of its own."""
    for index, own in enumerate(program.steps):
        if own is step or (own.place == step.place and own.outputs == step.outputs):
            return index
        if any(inner.outputs == step.outputs and inner.place == step.place for inner in _inner_steps(own)):
            return index
    return None


def _inner_steps(step: OnnxStep) -> Iterator[OnnxStep]:
    for inner in (*step.attributes.values(), step.function):
        if isinstance(inner, OnnxProgram):
            yield from _all_steps(inner)


class Staged:
    """A model that runs in stages."""

    def __init__(
        self, model: OnnxModule, args: Sequence[Any], needs: NeedsValues, compile: Compile, tell: Tell
    ) -> None:
        """Raises `NeedsValues` again where the model cannot be divided."""
        self.model = model
        self.interpreter = Stepwise(model, compile, tell)
        names = [port.name for port in model.inputs[: len(args)]]
        hosts: set[int] = set()
        program = model.program
        while True:
            failed = needs.__cause__
            index = place_of(program, failed.step) if isinstance(failed, StepFailed) else None
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
        self.head = compile(head) if self.stages.head.outputs else None
        self.hosts = {program.steps[i].outputs for i in hosts}
        self.heavy = any(step.op in HEAVY for step in self.stages.rest.steps if step.outputs not in self.hosts)
        self._take_along()
        self.sections: Partitions | None = None
        self.empty: set[str] | None = None  # the values without elements in the last run
        self.reason = needs.problem

    def __call__(self, *args: Any) -> Any:
        scope = self._scope(args)
        values = dict(scope.values)
        if self.head is not None:
            results = self.head(*args)
            made = self.stages.head.outputs
            values.update(zip(made, (results,) if len(made) == 1 else results))
        if self.sections is not None and not scope.types:
            values.update(self.sections.constants)
            found = self.sections.run(values)
        else:
            self._step_by_step(ValueScope(values, scope.types), scope)
            found = tuple([values[name] for name in self.stages.rest.outputs])
        brought = [*args, *(scope.values[name] for name, _ in self.parameters)]
        taken = {_memory(value) for value in brought if isinstance(value, Tensor)} | self.taken
        outputs = [_own(value, taken) for value in found]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _take_along(self) -> None:
        """What the steps behind the head read of the model's own values."""
        model, names = self.model, self.stages.rest.captured
        self.parameters = [(name, model.keys[name]) for name in names if name in model.keys]
        self.held = {name: model.program.constants[name] for name in names if name not in model.keys}
        self.types = {n: t for n in names if (t := model.program.constant_types.get(n, 0)) in CARRIERS}
        self.taken = {_memory(value) for value in self.held.values() if isinstance(value, Tensor)}

    def _scope(self, args: Sequence[Any]) -> ValueScope:
        model = self.model
        values = {**self.held, **{name: lookup(model, key) for name, key in self.parameters}}
        types = dict(self.types)
        for port, arg in zip(model.inputs, args):
            values[port.name] = model.program.constants.get(port.name) if arg is None else arg
            if port.element_type in CARRIERS:
                types[port.name] = port.element_type
        return ValueScope(values, types)

    def _step_by_step(self, own: ValueScope, scope: ValueScope) -> None:
        """Every step by itself; a run that found as much as the one before shows how to divide them."""
        for step in self.stages.rest.steps:
            self.interpreter.take(step, own)
        empty = {name for name, value in own.values.items() if isinstance(value, Tensor) and not value.numel()}
        usual = empty == self.empty or (self.heavy and not empty)
        self.empty = empty
        if own.types:
            name, count = next(iter(own.types)), len(self.stages.rest.steps)
            self.interpreter.tell(f"{count} steps run one by one: torch lacks the element type of `{name}`")
        if own.types or not usual:
            return
        self.sections = Partitions(
            self.interpreter, self.stages.rest, scope, own.values, self._apart, forms=MOST_SHAPES
        )

    def _apart(self, steps: Sequence[OnnxStep]) -> set[int]:
        return {i for i, step in enumerate(steps) if step.op in DATA_DEPENDENT or step.outputs in self.hosts}


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _own(value: Any, taken: set[int]) -> Any:
    """A result in memory of its own."""
    if not isinstance(value, Tensor):
        return value
    memory = _memory(value)
    if memory in taken:
        return value.clone()
    taken.add(memory)
    return value
