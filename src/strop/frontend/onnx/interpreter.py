"""Runs the steps of an ONNX program over torch operators, on real tensors or in a trace.

On real tensors it computes. In a trace it computes with what is known (constants, shapes) and leaves the rest to the
graph, so that shape arithmetic vanishes.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
import torch.fx.traceback as fx_meta
from torch import Tensor
from torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
)
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves

from strop.core.dtypes import NATIVE
from strop.core.problem import Problem
from strop.frontend.onnx.context import deferring
from strop.frontend.onnx.element_types import CARRIERS, OF_DTYPE, WRAPPED
from strop.frontend.onnx.file import memory
from strop.frontend.onnx.ops import OnnxCall, Undecided, Unknown, Unsupported, applied, known, standing_for
from strop.frontend.onnx.ops.counters import noted
from strop.frontend.onnx.ops.standing import on_standing, stands
from strop.frontend.onnx.program import OnnxProgram, OnnxStep, Stored
from strop.frontend.torch.data_dependent import DATA_DEPENDENT
from strop.frontend.torch.dtypes import NAMES

#: what is computed from constants alone stays a constant up to this many elements, unless it came from as many
LARGEST_FOLD = 2**16
#: elements that a constant may have at all
LARGEST_VALUE = 2**28
#: operators whose results may be far larger than their inputs
_GROWING = frozenset((
    "ConstantOfShape", "Expand", "Tile", "Range", "Pad", "Resize", "Upsample", "OneHot", "CenterCropPad", "EyeLike",
    "RandomNormal", "RandomUniform", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix", "AffineGrid",
    "MaxUnpool", "ConvTranspose", "GridSample", "Col2Im",
))  # fmt: skip
#: results that follow from the shapes of their inputs, not from their values
_OF_SHAPES = frozenset(("Shape", "Size"))


@dataclass(frozen=True)
class ValueScope:
    """The values that are visible at some place, and the element types of those that are carried."""

    values: MutableMapping[str, Any]
    types: MutableMapping[str, int]

    def inner(self) -> ValueScope:
        return ValueScope(ChainMap({}, self.values), ChainMap({}, self.types))


class StepFailed(Undecided):
    """A step that cannot be traced since a value is not known; `names` are the values."""

    def __init__(self, step: OnnxStep, names: Sequence[str], what: str) -> None:
        super().__init__(what)
        self.step = step
        self.names = names
        self.what = what


class Interpreter:
    """Runs programs. With `tracing`, values may be stand-ins, and steps on constants alone are computed at once."""

    def __init__(self, tracing: FakeTensorMode | None = None) -> None:
        self.tracing = tracing

    def run(self, program: OnnxProgram, scope: ValueScope) -> list[Any]:
        """The program's outputs; `scope` already holds its inputs and constants."""
        for step in program.steps:
            self._step(step, scope)
            for name in step.dead:
                scope.values.pop(name, None)
        return [scope.values[name] for name in program.outputs]

    def _step(self, step: OnnxStep, scope: ValueScope) -> None:
        inputs = [scope.values[name] if name else None for name in step.inputs]
        if self.tracing is not None:
            fx_meta.current_meta["nn_module_stack"] = {"": (step.path, step.op)}
        if step.function is not None:
            self._called(step, step.function, inputs, scope)
            return
        types = tuple(_type_of(scope, name, value) for name, value in zip(step.inputs, inputs))
        refusal = step.typing.refusal(types)
        if refusal:
            raise Problem("STR124", refusal, where=step.place)
        output_types = tuple(step.typing.of(i, types) for i in range(len(step.outputs)))
        fold = self.tracing is not None and self._folds(step, inputs, scope)
        try:
            if fold:
                reals, around = _real(inputs), _real_scope(step, scope)
                with _disable_current_modes(), standing_for({}):
                    results = self._results(step, reals, around, types, output_types, True)
            else:
                results = self._results(step, inputs, scope, types, output_types, False)
                if self.tracing is not None and deferring() and len(results) == 1:
                    results = [noted(step.op, inputs, results[0])]
        except StepFailed as failed:  # inside a body: its inputs may come from any of ours
            names = [*failed.names, *(n for n in step.inputs if n and n not in failed.names)]
            raise StepFailed(failed.step, names, failed.what) from failed
        except Unknown as unknown:
            raise StepFailed(step, self._unknown(step, inputs, scope, unknown.tensor), unknown.what) from unknown
        except DATA_DEPENDENT as error:
            what = "the values on which the shape of its result depends"
            raise StepFailed(step, self._unknown(step, inputs, scope, None), what) from error
        for name, result, element_type in zip(step.outputs, results, output_types):
            if not name:
                continue
            if isinstance(result, Tensor) and result.numel() * result.itemsize > memory():
                raise Problem("STR124", f"its result, {_described(result)}, is larger than this machine's memory",
                              where=step.place)  # fmt: skip
            scope.values[name] = result
            if element_type in CARRIERS and getattr(result, "dtype", CARRIERS[element_type]) == CARRIERS[element_type]:
                scope.types[name] = element_type

    def _results(
        self, step: OnnxStep, inputs: Sequence[Any], scope: ValueScope, types: tuple[int, ...],
        output_types: tuple[int, ...], real: bool,
    ) -> Sequence[Any]:  # fmt: skip
        assert step.operator is not None
        attributes: dict[str, Any] = {}
        interpreter = Interpreter() if real else self
        for name, value in step.attributes.items():
            if isinstance(value, OnnxProgram):
                attributes[name] = interpreter.body(value, scope)
            else:
                attributes[name] = value.value if isinstance(value, Stored) else value
        if step.operator.takes_node:
            attributes["node"] = OnnxCall(
                step.path, step.op, step.opset, step.outputs, scope.values, types, output_types
            )
        standing = any(stands(step.op, value) for value in inputs)
        try:
            result = (on_standing if standing else applied)(step.op, step.operator.function, inputs, attributes)
        except (Problem, Unknown, StepFailed, KeyboardInterrupt, *DATA_DEPENDENT):
            raise
        except Unsupported as unsupported:
            raise Problem("STR123", str(unsupported), where=step.place) from unsupported
        except Exception as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
            shapes = ", ".join(_described(value) for value in inputs) or "no inputs"
            raise Problem("STR124", f"it cannot be computed on {shapes}: {lines[0]}", where=step.place) from error
        results = result if isinstance(result, tuple) else (result,)
        if len(results) < sum(map(bool, step.outputs)):
            raise Problem("STR123", f"its output {len(results) + 1} is not covered", where=step.place)
        return [_wrapped(r, t) for r, t in zip(results, (*output_types, *([0] * len(results))))]

    def body(self, program: OnnxProgram, scope: ValueScope) -> InterpretedBody:
        return InterpretedBody(program, self, scope)

    def _called(self, step: OnnxStep, function: OnnxProgram, inputs: Sequence[Any], scope: ValueScope) -> None:
        """A function of the model, or ONNX's own definition of an operator."""
        padded = (*inputs, *([None] * (len(function.inputs) - len(inputs))))
        inner = ValueScope(dict(zip(function.inputs, padded)), {})
        for outer_name, name in zip(step.inputs, function.inputs):
            if outer_name in scope.types:
                inner.types[name] = scope.types[outer_name]
        try:
            results = self.run(function, inner)
        except StepFailed as failed:
            needed = decided_by(function, failed.names)
            outer = [o for o, n in zip(step.inputs, function.inputs) if n in needed]
            raise StepFailed(failed.step, outer, failed.what) from failed
        for name, inner_name, result in zip(step.outputs, function.outputs, results):
            if name:
                scope.values[name] = result
                if inner_name in inner.types:
                    scope.types[name] = inner.types[inner_name]

    # ---- what is known while tracing ----

    def _folds(self, step: OnnxStep, inputs: Sequence[Any], scope: ValueScope) -> bool:
        """Whether a step is computed now: all of it is known, it stays small, and no parameter would be baked in."""
        values = [*inputs, *(scope.values.get(name) for name in step.captured)]
        leaves = [leaf for leaf in tree_leaves(values) if isinstance(leaf, Tensor)]
        reals = [known(leaf) for leaf in leaves]
        if any(real is None for real in reals) or step.op.startswith(("Random", "Bernoulli", "Multinomial")):
            return False
        native = all(NAMES.get(leaf.dtype) in NATIVE for leaf in leaves)
        if native and any(isinstance(leaf, FakeTensor) for leaf in leaves) and step.op not in _OF_SHAPES:
            return False
        largest = max((leaf.numel() for leaf in leaves), default=0)
        if step.op not in _GROWING and prod(leaf.numel() or 1 for leaf in leaves) <= LARGEST_FOLD:
            return True
        size = self._size_of(step, inputs, scope)
        if size > LARGEST_VALUE:
            raise Problem("STR124", f"it makes a constant of {size} elements", where=step.place)
        return size <= max(LARGEST_FOLD, 2 * largest)

    def _size_of(self, step: OnnxStep, inputs: Sequence[Any], scope: ValueScope) -> int:
        """How many elements the results would have, found out without making them."""
        stand_ins: dict[int, Tensor] = {}
        mode = FakeTensorMode(allow_non_fake_inputs=True)

        def faked(value: Any) -> Any:
            if isinstance(value, list):
                return [faked(v) for v in value]
            if not isinstance(value, Tensor):
                return value
            real = known(value)
            assert real is not None
            with _disable_current_modes():
                made = fake_like(mode, real)
            stand_ins[id(made)] = real
            return made

        fakes = [faked(value) for value in inputs]
        try:
            with _disable_current_modes(), mode, standing_for(stand_ins):
                results = self._results(step, fakes, scope, (), (), True)
        except (Unknown, StepFailed, *DATA_DEPENDENT):
            return 0
        return sum(leaf.numel() for leaf in tree_leaves(results) if isinstance(leaf, Tensor))

    def _unknown(self, step: OnnxStep, inputs: Sequence[Any], scope: ValueScope, tensor: Tensor | None) -> list[str]:
        """The names behind a tensor of which a step needs the value: that input, or whatever is not known."""
        exact = [name for name, value in zip(step.inputs, inputs) if value is tensor and tensor is not None]
        if exact:
            return exact
        named = [*zip(step.inputs, inputs), *((name, scope.values.get(name)) for name in step.captured)]
        return [name for name, value in named if any(known(leaf) is None for leaf in _tensors(value))]


class InterpretedBody:
    """A graph attribute: callable with its inputs, and it sees the values around it."""

    def __init__(self, program: OnnxProgram, interpreter: Interpreter, scope: ValueScope) -> None:
        self.program = program
        self.inputs = program.inputs
        self.outputs = program.outputs
        self.captured = program.captured
        self.interpreter = interpreter
        self.scope = scope

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        inner = self.scope.inner()
        inner.values.update(self.program.constants)
        inner.values.update(zip(self.inputs, inputs))
        inner.types.update((name, kind) for name, kind in self.program.constant_types.items() if kind in CARRIERS)
        return tuple(self.interpreter.run(self.program, inner))

    def repeat(self, first: int, most: int | None, watched: bool, states: Sequence[Any]) -> list[Tensor] | None:
        """All rounds of a loop from the `first` on, where they can be run at once: the last states, what they yield."""
        return None


def decided_by(program: OnnxProgram, names: Sequence[str]) -> set[str]:
    """What decides the values of `names`: inputs of the program and values from around it."""
    makers = {name: step for step in program.steps for name in step.outputs}
    pending, seen = list(names), set(names)
    while pending:
        step = makers.get(pending.pop())
        if step is None or step.op in _OF_SHAPES:
            continue
        fresh = {n for n in (*step.inputs, *step.captured) if n} - seen
        seen |= fresh
        pending += fresh
    return seen - makers.keys()


def _type_of(scope: ValueScope, name: str, value: Any) -> int:
    if not name or value is None:
        return 0
    if name in scope.types:
        return scope.types[name]
    if isinstance(value, list):
        return OF_DTYPE.get(value[0].dtype, 0) if value and isinstance(value[0], Tensor) else 0
    return OF_DTYPE.get(value.dtype, 0) if isinstance(value, Tensor) else 0


def _tensors(value: Any) -> Iterator[Tensor]:
    yield from (leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor))


def _real(value: Any) -> Any:
    """A value with the real tensors behind its stand-ins, all of which are known."""
    if isinstance(value, list):
        return [_real(v) for v in value]
    if isinstance(value, Tensor):
        return known(value)
    return value


def _real_scope(step: OnnxStep, scope: ValueScope) -> ValueScope:
    return ValueScope(
        {name: _real(scope.values[name]) for name in step.captured if name in scope.values}, {**scope.types}
    )


def _wrapped(value: Any, element_type: int) -> Any:
    if element_type in WRAPPED and isinstance(value, Tensor) and value.dtype == CARRIERS[element_type]:
        return torch.bitwise_and(value, WRAPPED[element_type])
    return value


def _described(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return "nothing" if value is None else type(value).__name__


def fake_like(mode: FakeTensorMode, tensor: Tensor) -> Tensor:
    """A stand-in without values for a tensor."""
    with mode:
        return torch.empty(tensor.shape, dtype=tensor.dtype)
