"""Parts of an ONNX model as modules of their own: the bodies of its loops and branches.

Where a trace cannot hold a body (too many rounds to unroll, a branch that data chooses), the graph gets one library
node, `strop::onnx_loop` or `strop::onnx_branch`, that runs the body's module at every round. The node names the body by
a digest of what it computes; so a cached program finds it again in another process, where capture has registered it
anew. Parameters come in with every call and are never part of the digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor, nn
from torch._library.custom_ops import CustomOpDef
from torch.utils._python_dispatch import _disable_current_modes

from strop.core.problem import Problem
from strop.frontend.onnx.context import keep, maker
from strop.frontend.onnx.element_types import OF_DTYPE
from strop.frontend.onnx.interpreter import ValueScope
from strop.frontend.onnx.module import OnnxModule, Pending, Port
from strop.frontend.onnx.ops import known
from strop.frontend.onnx.program import OnnxProgram, Stored
from strop.frontend.torch.library_nodes import DIRECT


@dataclass(frozen=True)
class Rounds:
    """Rounds of a body, from the `first` to `most` at most (None: until it says so)."""

    first: int
    most: int | None
    counted: bool  # it takes the number of the round and a condition before its states
    asked: bool  # it gives a condition before its states
    watched: bool  # the loop ends when that does not hold
    states: Sequence[Tensor]
    rows: Sequence[Tensor]  # of which it reads one slice of dimension 0 per round
    values: Sequence[Tensor]


class Runner:
    """What a `Maker` makes of a part, where that can do more than be called."""

    def refresh(self) -> None:
        """The parameters of the part have changed."""
        raise NotImplementedError

    def repeat(self, loop: Rounds) -> tuple[int, list[Tensor]] | None:
        """Many rounds: how many there were, the last states and what was yielded; None: they are run one by one."""
        raise NotImplementedError


def repeat(body: object, loop: Rounds) -> tuple[int, list[Tensor]] | None:
    """All rounds at once, where the body can do that; None where they have to be run one by one."""
    return body.repeat(loop) if isinstance(body, Runner) else None


def _refresh(body: object) -> None:
    if isinstance(body, Runner):
        body.refresh()


def _as_it_is(part: SubgraphModule) -> Callable[..., Any]:
    return part


class SubgraphModule(OnnxModule):
    """A program with its inputs and outputs by position, on parameters that are `shared` or its own."""

    def __init__(
        self, program: OnnxProgram, inputs: Sequence[Port], parameters: Mapping[str, Tensor], name: str, *,
        shared: bool = False, inner: bool = False,
    ) -> None:  # fmt: skip
        """The results of an `inner` part are seen by nobody who might write to them."""
        nn.Module.__init__(self)
        self.inner = inner
        self.name = name
        self.program = program
        self.inputs = tuple(inputs)
        self.required = len(self.inputs)
        self.outputs = tuple(Port(n, t, None, "tensor") for n, t in _typed_outputs(program))
        self.kept = {}
        self.pending = Pending()
        self.keys = {name: f"p{i}" for i, name in enumerate(parameters)}
        for name, value in parameters.items():
            own = value if shared and isinstance(value, nn.Parameter) else nn.Parameter(value.detach(), False)
            self.register_parameter(self.keys[name], own)
        self.eval()


def _typed_outputs(program: OnnxProgram) -> list[tuple[str, int]]:
    types = program.output_types or (0,) * len(program.outputs)
    return list(zip(program.outputs, types))


@dataclass(eq=False)
class Registered:
    """A body that library nodes call, with what they need to know of it."""

    part: SubgraphModule
    parameters: tuple[nn.Parameter, ...]
    make: Callable[[SubgraphModule], Callable[..., Any]]
    runner: Callable[..., Any] | None = None
    marks: list[tuple[int, int]] | None = None

    def on(self, parameters: Sequence[Tensor]) -> Callable[..., Any]:
        """The body on these parameters, as they are now."""
        marks = [(p.data_ptr(), -1 if p.is_inference() else p._version) for p in parameters]
        if self.runner is None:
            self.runner = self.make(self.part)
        if marks != self.marks:
            for own, given in zip(self.parameters, parameters):
                own.data = given
            _refresh(self.runner)
            self.marks = marks
        return self.runner

    def __call__(self, inputs: Sequence[Tensor], parameters: Sequence[Tensor]) -> tuple[Tensor, ...]:
        results = self.on(parameters)(*inputs)
        return results if isinstance(results, tuple) else (results,)


_registered: WeakValueDictionary[str, Registered] = WeakValueDictionary()


def find(key: str) -> Registered:
    found = _registered.get(key)
    if found is None:
        raise Problem("STR404", f"the graph `{key}` is not loaded", help="compile the model again")
    return found


@dataclass(frozen=True)
class Cut:
    """A body cut out of its model, and the values that go into it besides its own inputs."""

    key: str
    values: list[Tensor]  # what it reads from around it and only a run knows
    parameters: list[Tensor]


def cut(program: OnnxProgram, scope: ValueScope, examples: Sequence[Tensor]) -> Cut:
    """Make a body a part. Constants around it go with it; parameters and values become inputs."""
    constants = dict(program.constants)
    types = dict(program.constant_types)
    values: dict[str, Tensor] = {}
    parameters: dict[str, Tensor] = {}
    for name in program.captured:
        value = scope.values[name]
        real = known(value) if isinstance(value, Tensor) else value
        if isinstance(real, nn.Parameter):
            parameters[name] = value
        elif real is not None:
            constants[name] = real
        else:
            values[name] = value
        if name in scope.types:
            types[name] = scope.types[name]
    inner = replace(program, inputs=(*program.inputs, *values), constants=constants, captured=(), constant_types=types)
    given = [types.get(n) or OF_DTYPE.get(e.dtype, 0) for n, e in zip(program.inputs, examples)]
    element_types = [*given, *(types.get(n, 0) for n in values)]
    by = maker()
    key = digest(inner, by.key if by else "", *(f"{n}:{list(v.shape)}" for n, v in parameters.items()))
    found = _registered.get(key)
    if found is None:
        ports = [Port(n, t, None, "tensor") for n, t in zip(inner.inputs, element_types)]
        held = {n: _parameter(v) for n, v in parameters.items()}
        with _disable_current_modes():
            part = SubgraphModule(inner, ports, held, program.name or "body", inner=True)
        own = tuple(part.get_parameter(part.keys[n]) for n in parameters)
        found = _registered[key] = Registered(part, own, by.make if by else _as_it_is)
    keep(key, found)
    return Cut(key, list(values.values()), list(parameters.values()))


def _parameter(stand_in: Tensor) -> Tensor:
    real = known(stand_in)
    assert real is not None
    return real


def digest(program: OnnxProgram, *more: str) -> str:
    """A name for what a program computes."""
    hasher = hashlib.sha256()

    def add(value: Any) -> None:
        if isinstance(value, OnnxProgram):
            add((value.inputs, value.outputs, value.output_types, sorted(value.constant_types.items())))
            for name, constant in sorted(value.constants.items()):
                add(name)
                add(constant)
            for step in value.steps:
                add((step.op, step.opset, step.inputs, step.outputs, sorted(step.attributes)))
                for _, attribute in sorted(step.attributes.items()):
                    add(attribute)
                add(step.function)
        elif isinstance(value, Tensor):
            add((str(value.dtype), tuple(value.shape)))
            hasher.update(value.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        elif isinstance(value, Stored):
            add(value.element_type)
            add(value.value)
        else:
            hasher.update(repr(value).encode())

    with _disable_current_modes():
        add(program)
        add(more)
    return hasher.hexdigest()[:32]


def described(results: Sequence[Tensor]) -> str:
    """The types of results as text, which an operator can take."""
    return ";".join(f"{str(r.dtype).removeprefix('torch.')}:{','.join(map(str, r.shape))}" for r in results)


def _empties(types: str) -> list[Tensor]:
    made = []
    for one in filter(None, types.split(";")):
        dtype, _, shape = one.partition(":")
        made.append(torch.empty([int(e) for e in shape.split(",") if e], dtype=getattr(torch, dtype)))
    return made


def _fresh(results: Sequence[Tensor], types: str) -> list[Tensor]:
    """Results that share no memory with anything, of the types that were promised."""
    if described(results) != types:
        raise Problem("STR404", f"a graph inside the model gave {described(results)} instead of {types}",
                      help="its results have other shapes than in the first round")  # fmt: skip
    return [result.clone() for result in results]


def _operator(function: Callable[..., list[Tensor]]) -> CustomOpDef:
    """A function as an operator of torch, which a trace holds as one node. Compiled programs call it directly."""
    DIRECT[f"strop.{function.__name__}.default"] = function
    return torch.library.custom_op(f"strop::{function.__name__}", function, mutates_args=())


@_operator
def onnx_loop(
    key: str, rounds: int, counted: bool, states: list[Tensor], scanned: list[Tensor], axes: list[int],
    values: list[Tensor], parameters: list[Tensor], types: str,
) -> list[Tensor]:  # fmt: skip
    """`rounds` rounds of a body: the last states, then what it yields, one slice of dimension 0 per round.

    A counted body takes the round and a condition before its states. `axes` says along which dimension each scanned
    input is read, or ~dimension to read it from its end.
    """
    body, count = find(key), len(states)
    rows = [t.movedim(a, 0) if a >= 0 else t.movedim(~a, 0).flip(0) for t, a in zip(scanned, axes)]
    at_once = repeat(body.on(parameters), Rounds(0, rounds, counted, False, False, states, rows, values))
    if at_once is not None and described(at_once[1]) == types:
        return at_once[1]
    yielded: list[list[Tensor]] = []
    kept = states
    going = torch.ones((), dtype=torch.bool)
    for index in range(rounds):
        head = [torch.tensor(index), going] if counted else []
        results = body([*head, *kept, *(row[index] for row in rows), *values], parameters)
        kept = list(results[:count])
        yielded.append(list(results[count:]))
    stacked = [torch.stack(column) for column in zip(*yielded)]
    return [*_fresh(kept, ";".join(types.split(";")[:count])), *stacked]


@onnx_loop.register_fake
def _(
    key: str, rounds: int, counted: bool, states: list[Tensor], scanned: list[Tensor], axes: list[int],
    values: list[Tensor], parameters: list[Tensor], types: str,
) -> list[Tensor]:  # fmt: skip
    return _empties(types)


@_operator
def onnx_while(
    key: str, rounds: int, condition: Tensor, states: list[Tensor], values: list[Tensor], parameters: list[Tensor],
    types: str,
) -> list[Tensor]:  # fmt: skip
    """Rounds of a counted body that yields nothing, as long as its condition holds (`rounds` at most, if ≥ 0)."""
    body = find(key)
    if bool(condition) and rounds:
        loop = Rounds(0, None if rounds < 0 else rounds, True, True, True, states, (), values)
        at_once = repeat(body.on(parameters), loop)
        if at_once is not None and described(at_once[1]) == types:
            return at_once[1]
    kept, going, index = states, condition, 0
    while bool(going) and index != rounds:
        going, *kept = body([torch.tensor(index), going, *kept, *values], parameters)
        index += 1
    return _fresh(kept, types)


@onnx_while.register_fake
def _(
    key: str, rounds: int, condition: Tensor, states: list[Tensor], values: list[Tensor], parameters: list[Tensor],
    types: str,
) -> list[Tensor]:  # fmt: skip
    return _empties(types)


@_operator
def onnx_branch(
    keys: str, condition: Tensor, values: list[Tensor], parameters: list[Tensor], split: list[int], types: str
) -> list[Tensor]:
    """One of two bodies; `split` says how many of the values and of the parameters are the first one's."""
    first = bool(condition)
    body = find(keys.split()[0 if first else 1])
    own = values[: split[0]] if first else values[split[0] :]
    return _fresh(body(own, parameters[: split[1]] if first else parameters[split[1] :]), types)


@onnx_branch.register_fake
def _(
    keys: str, condition: Tensor, values: list[Tensor], parameters: list[Tensor], split: list[int], types: str
) -> list[Tensor]:
    return _empties(types)
