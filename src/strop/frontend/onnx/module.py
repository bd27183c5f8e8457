"""ONNX models: an nn.Module that interprets the file's graph over torch operators, and its trace to our graph.

One interpreter serves both. On real tensors it computes; in a trace it computes with what is known (constants, shapes)
and leaves the rest to the graph, so that shape arithmetic vanishes. Large floating-point initialisers are the module's
parameters under their own names.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import torch
import torch.fx.traceback as fx_meta
from torch import Tensor, nn
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves

from strop.core.dtypes import NATIVE
from strop.core.problem import Problem
from strop.frontend.onnx.context import capturing, deferring
from strop.frontend.onnx.element_types import CARRIERS, OF_DTYPE, WRAPPED, carried, dtype_of
from strop.frontend.onnx.file import memory, read
from strop.frontend.onnx.ops import OnnxCall, Undecided, Unknown, Unsupported, applied, known, standing_for
from strop.frontend.onnx.ops.counters import noted
from strop.frontend.onnx.ops.standing import on_standing, stands
from strop.frontend.onnx.program import OnnxProgram, OnnxStep, Reader, Stored, element_type_of
from strop.frontend.torch.dtypes import NAMES
from strop.frontend.torch.inplace import is_write
from strop.frontend.torch.normalize import from_fx
from strop.frontend.torch.quiet import quietly
from strop.graph.ir import Graph

#: a floating-point initialiser with more elements is a parameter, others are part of the program
SMALLEST_PARAMETER = 2
#: what is computed from constants alone stays a constant up to this many elements, unless it came from as many
LARGEST_FOLD = 2**16
#: elements that a constant may have at all
LARGEST_VALUE = 2**28
#: an input whose value shapes the program may have this many elements
LARGEST_BOUND = 4096

#: operators whose results may be far larger than their inputs
_GROWING = frozenset((
    "ConstantOfShape", "Expand", "Tile", "Range", "Pad", "Resize", "Upsample", "OneHot", "CenterCropPad", "EyeLike",
    "RandomNormal", "RandomUniform", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix", "AffineGrid",
    "MaxUnpool", "ConvTranspose", "GridSample", "Col2Im",
))  # fmt: skip
_DATA_DEPENDENT = (DataDependentOutputException, DynamicOutputShapeException, GuardOnDataDependentSymNode)
#: results that follow from the shapes of their inputs, not from their values
_OF_SHAPES = frozenset(("Shape", "Size"))


@dataclass(frozen=True)
class Port:
    """An input or output as the file declares it; an extent is a number, a name, or None."""

    name: str
    element_type: int
    shape: tuple[int | str | None, ...] | None
    kind: str  # "tensor", "sequence", "optional", …

    @property
    def dtype(self) -> torch.dtype | None:
        return dtype_of(self.element_type)

    @property
    def static(self) -> tuple[int, ...] | None:
        """The shape where the file fixes it."""
        if self.kind != "tensor" or self.shape is None or not all(isinstance(e, int) for e in self.shape):
            return None
        return tuple(e for e in self.shape if isinstance(e, int))


class Pending:
    """Captures that were made to see which inputs must be bound, until somebody compiles them."""

    def __init__(self) -> None:
        self.captured: dict[Any, CapturedOnnx] = {}


class NeedsValues(Exception):
    """The program's shape depends on the values of these inputs."""

    def __init__(self, inputs: frozenset[int], problem: Problem) -> None:
        super().__init__(problem.message)
        self.inputs = inputs
        self.problem = problem


class OnnxModule(nn.Module):
    """An ONNX model as a module. `forward` takes the inputs in the file's order and returns the outputs in its order.

    Inputs that have an initialiser come last and may be left out. An input may also be given as `bound(value)`: then
    its value is part of the program.
    """

    def __init__(self, source: Any, name: str = "") -> None:
        super().__init__()
        model, folder = read(source)
        self.name = name or model.graph.name or "model"
        program = Reader(model, folder).graph(model.graph)
        defaults = frozenset(program.constants)
        ports = [_port(value) for value in model.graph.input]
        self.inputs = (*(p for p in ports if p.name not in defaults), *(p for p in ports if p.name in defaults))
        self.required = sum(p.name not in defaults for p in ports)
        self.outputs = tuple(_port(value) for value in model.graph.output)
        self.program = program
        self.keys: dict[str, str] = {}
        self.pending = Pending()
        self.kept: dict[str, Any] = {}  # bodies that library nodes of compiled variants call
        for key, value in program.constants.items():
            if isinstance(value, Tensor) and value.is_floating_point() and value.numel() >= SMALLEST_PARAMETER:
                self.keys[key] = _register(self, key, nn.Parameter(value, requires_grad=False))
        self.eval()

    def forward(self, *args: Any) -> Any:
        scope = self.scope(args, {name: lookup(self, key) for name, key in self.keys.items()})
        return _packed(Interpreter().run(self.program, scope))

    def let_go(self) -> None:
        """Hold initialisers as parameters only: what took a parameter's place takes the initialiser's."""
        held = {name: lookup(self, key) for name, key in self.keys.items()}
        self.program = replace(self.program, constants={**self.program.constants, **held})

    def scope(self, args: Sequence[Any], parameters: Mapping[str, Tensor]) -> ValueScope:
        """The names that the graph starts from."""
        if not self.required <= len(args) <= len(self.inputs):
            names = ", ".join(port.name for port in self.inputs[: self.required])
            raise Problem("STR105", f"{len(args)} inputs were given; the model takes {self.required}: {names}")
        values: dict[str, Any] = {**self.program.constants, **parameters}
        types = {n: t for n, t in self.program.constant_types.items() if t in CARRIERS}
        for port, arg in zip(self.inputs, args):
            if arg is None and port.name in values:
                continue
            values[port.name] = carried(unbound(arg))
            types.pop(port.name, None)
            if port.element_type in CARRIERS:
                types[port.name] = port.element_type
        return ValueScope(values, types)


def _packed(results: list[Any]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)


def bound(value: Tensor) -> tuple[Any, ...]:
    """A tensor as plain data: whoever compares arguments by value tells these apart."""
    value = value.detach().contiguous()
    raw = value.reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""
    return ("value", NAMES[value.dtype], tuple(value.shape), raw)


def unbound(value: Any) -> Any:
    """The tensor behind `bound`; anything else as it is."""
    if not (isinstance(value, tuple) and len(value) == 4 and value[0] == "value"):
        return value
    _, dtype, shape, raw = value
    kind = next(k for k, name in NAMES.items() if name == dtype)
    with _disable_current_modes():
        if not raw:
            return torch.empty(shape, dtype=kind)
        return torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(kind).reshape(shape)


def lookup(module: nn.Module, key: str) -> Tensor:
    found: Any = module
    for part in key.split("."):
        found = getattr(found, part)
    if not isinstance(found, Tensor):
        raise Problem("STR105", f"`{key}` is no longer a tensor of the module", help="compile the model again")
    return found


def _register(module: nn.Module, name: str, value: nn.Parameter) -> str:
    """Hold an initialiser under its own name, as a state dict spells it, where that can be."""
    parts = [part if part.isidentifier() or part.isdecimal() else _spelt(part) for part in name.split(".")]
    holder = module
    for depth, part in enumerate(parts[:-1]):
        inner = holder._modules.get(part)
        if inner is None:
            if hasattr(holder, part):
                parts = [*parts[:depth], "_".join(parts[depth:])]
                break
            inner = nn.Module()
            holder.add_module(part, inner)
        holder = inner
    leaf = parts[-1]
    while hasattr(holder, leaf):
        leaf += "_"
    holder.register_parameter(leaf, value)
    return ".".join((*parts[:-1], leaf))


def _spelt(part: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in part) or "_"


def _port(value: Any) -> Port:
    proto = value.type
    kind = (proto.WhichOneof("value") or "").removesuffix("_type")
    shape: tuple[int | str | None, ...] | None = None
    if kind == "tensor" and proto.tensor_type.HasField("shape"):
        shape = tuple(_extent(dim) for dim in proto.tensor_type.shape.dim)
    return Port(value.name, element_type_of(proto), shape, kind)


def _extent(dim: Any) -> int | str | None:
    if dim.HasField("dim_value"):
        return int(dim.dim_value) if dim.dim_value >= 0 else None
    return str(dim.dim_param) if dim.HasField("dim_param") and dim.dim_param else None


# ---- interpretation ----


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
        except _DATA_DEPENDENT as error:
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
        except (Problem, Unknown, StepFailed, KeyboardInterrupt, *_DATA_DEPENDENT):
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
            needed = _behind(function, failed.names)
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
                made = _fake(mode, real)
            stand_ins[id(made)] = real
            return made

        fakes = [faked(value) for value in inputs]
        try:
            with _disable_current_modes(), mode, standing_for(stand_ins):
                results = self._results(step, fakes, scope, (), (), True)
        except (Unknown, StepFailed, *_DATA_DEPENDENT):
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


def _behind(program: OnnxProgram, names: Sequence[str]) -> set[str]:
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


# ---- capture ----


@dataclass(frozen=True)
class FixedOutput:
    """An output that is known without running anything."""

    value: Any


@dataclass(frozen=True)
class Given:
    """An output that is an input (its position among the tensors) or a parameter (its key) as it came."""

    source: int | str


@dataclass(frozen=True)
class Made:
    """An output that the graph computes: its position among the graph's outputs."""

    index: int


@dataclass(frozen=True)
class CapturedOnnx:
    """A model's program for inputs of fixed shapes. `outputs` are the leaves of `out_spec`."""

    graph: Graph
    outputs: tuple[FixedOutput | Given | Made, ...]
    out_spec: TreeSpec
    constants: Mapping[str, Tensor]
    fallbacks: Mapping[str, str]


def capture(module: OnnxModule, args: Sequence[Any], *, deferring: bool = False) -> CapturedOnnx:
    """Trace the model for arguments of these shapes; `NeedsValues` names inputs to be given as `bound` ones.

    With `deferring`, branches and loops that data decides become library nodes where that is possible.
    """
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    leaves, spec = tree_flatten(list(args), is_leaf=lambda v: isinstance(v, tuple))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    examples = [_fake(mode, leaves[i]) for i in places]
    keys = list(module.keys.items())
    parameters = [lookup(module, key) for _, key in keys]
    stand_ins = [_fake(mode, parameter) for parameter in parameters]
    slots: list[FixedOutput | Given | int] = []
    specs: list[TreeSpec] = []

    def run(*tensors: Tensor) -> list[Tensor]:
        given = list(leaves)
        for place, tensor in zip(places, tensors):
            given[place] = tensor
        held = tensors[len(places) :]
        real = {id(stand_in): parameter for stand_in, parameter in zip(held, parameters)}
        names = {name: stand_in for (name, _), stand_in in zip(keys, held)}
        scope = module.scope(torch.utils._pytree.tree_unflatten(given, spec), names)
        with standing_for(real):
            results, out_spec = tree_flatten(_packed(Interpreter(mode).run(module.program, scope)))
        specs.append(out_spec)
        sources: dict[int, int | str] = {id(t): i for i, t in enumerate(tensors[: len(places)])}
        sources.update({id(stand_in): key for (_, key), stand_in in zip(keys, held)})
        computed: list[Tensor] = []
        for result in results:
            if not isinstance(result, FakeTensor):
                slots.append(FixedOutput(result))
            elif id(result) in sources:
                slots.append(Given(sources[id(result)]))
            else:
                slots.append(len(computed))
                computed.append(result)
        return computed

    with _tracing(mode), capturing(module.kept, deferring=deferring):
        try:
            traced = make_fx(run, pre_dispatch=True)(*examples, *stand_ins)
            if any(is_write(node) for node in traced.graph.nodes):
                traced = make_fx(torch.func.functionalize(traced, remove="mutations"))(*examples, *stand_ins)
        except StepFailed as failed:
            raise _needed(module, failed) from failed
    placeholders = [node.name for node in traced.graph.nodes if node.op == "placeholder"]
    params = {name: key for name, (_, key) in zip(placeholders[len(places) :], keys)}
    conversion = from_fx(traced, params=params)
    outputs = tuple(slot if not isinstance(slot, int) else Made(slot) for slot in slots)
    used = {node for node in conversion.graph.nodes for node in node.inputs} | set(conversion.graph.outputs)
    graph = replace(conversion.graph, params=tuple(p for p in conversion.graph.params if p in used))
    return CapturedOnnx(graph, outputs, specs[0], conversion.constants, conversion.fallbacks)


def _fake(mode: FakeTensorMode, tensor: Tensor) -> Tensor:
    with mode:
        return torch.empty(tensor.shape, dtype=tensor.dtype)


@contextmanager
def _tracing(mode: FakeTensorMode) -> Iterator[None]:
    with quietly(), torch.no_grad(), mode, fx_meta.preserve_node_meta():
        before = dict(fx_meta.current_meta)
        try:
            yield
        finally:
            fx_meta.current_meta.clear()
            fx_meta.current_meta.update(before)


def _needed(module: OnnxModule, failed: StepFailed) -> NeedsValues:
    """Which of the model's inputs decide the value that a step could not do without."""
    needed = _behind(module.program, failed.names)
    found = {i for i, port in enumerate(module.inputs) if port.name in needed}
    problem = Problem("STR106", f"{failed.what} is known only when the model runs", where=failed.step.place,
                      help="it runs in eager mode; export the model with fixed shapes")  # fmt: skip
    return NeedsValues(frozenset(found), problem)
