"""The trace of an ONNX model for inputs of fixed shapes: the graph, and where each output comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.fx.traceback as fx_meta
from torch import Tensor
from torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
)
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import TreeSpec, tree_flatten

from strop.core.problem import Problem
from strop.frontend.onnx.context import capturing
from strop.frontend.onnx.interpreter import Interpreter, StepFailed, decided_by, fake_like
from strop.frontend.onnx.module import OnnxModule, lookup, packed
from strop.frontend.onnx.ops import standing_for
from strop.frontend.torch.inplace import is_write
from strop.frontend.torch.normalize import from_fx
from strop.frontend.torch.quiet import quietly
from strop.graph.ir import Graph


class NeedsValues(Exception):
    """The program's shape depends on the values of these inputs."""

    def __init__(self, inputs: frozenset[int], problem: Problem) -> None:
        super().__init__(problem.message)
        self.inputs = inputs
        self.problem = problem


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


@dataclass(frozen=True)
class OnnxTrace:
    """A model's program as an FX graph over torch operators: it takes the tensors among the arguments and then the
    parameters of `keys`. An output is its result of a number, or one that need not be computed."""

    graph: GraphModule
    slots: Sequence[FixedOutput | Given | int]
    out_spec: TreeSpec
    keys: Sequence[str]


def capture(module: OnnxModule, args: Sequence[Any], *, deferring: bool = False) -> CapturedOnnx:
    """Trace the model for arguments of these shapes; `NeedsValues` names inputs to be given as `bound` ones.

    With `deferring`, branches and loops that data decides become library nodes where that is possible.
    """
    trace = traced(module, args, deferring=deferring)
    placeholders = [node.name for node in trace.graph.graph.nodes if node.op == "placeholder"]
    params = dict(zip(placeholders[len(placeholders) - len(trace.keys) :], trace.keys))
    conversion = from_fx(trace.graph, params=params)
    outputs = tuple(slot if not isinstance(slot, int) else Made(slot) for slot in trace.slots)
    used = {node for node in conversion.graph.nodes for node in node.inputs} | set(conversion.graph.outputs)
    graph = replace(conversion.graph, params=tuple(p for p in conversion.graph.params if p in used))
    return CapturedOnnx(graph, outputs, trace.out_spec, conversion.constants, conversion.fallbacks)


def traced(module: OnnxModule, args: Sequence[Any], *, deferring: bool = False) -> OnnxTrace:
    """The model for arguments of these shapes, over torch operators."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    leaves, spec = tree_flatten(list(args), is_leaf=lambda v: isinstance(v, tuple))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    examples = [fake_like(mode, leaves[i]) for i in places]
    keys = list(module.keys.items())
    parameters = [lookup(module, key) for _, key in keys]
    stand_ins = [fake_like(mode, parameter) for parameter in parameters]
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
            results, out_spec = tree_flatten(packed(Interpreter(mode).run(module.program, scope)))
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
            graph = make_fx(run, pre_dispatch=True)(*examples, *stand_ins)
            if any(is_write(node) for node in graph.graph.nodes):
                graph = make_fx(torch.func.functionalize(graph, remove="mutations"))(*examples, *stand_ins)
        except StepFailed as failed:
            raise _needed(module, failed) from failed
    return OnnxTrace(graph, slots, specs[0], [key for _, key in keys])


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
    needed = decided_by(module.program, failed.names)
    found = {i for i, port in enumerate(module.inputs) if port.name in needed}
    problem = Problem("STR106", f"{failed.what} is known only when the model runs", where=failed.step.place,
                      help="it runs in eager mode; export the model with fixed shapes")  # fmt: skip
    return NeedsValues(frozenset(found), problem)
