"""Programs of training steps: their parameters change at every call, and their memory stays.

A weight is an argument like any other here. Where a nest reads it in another order than it lies in, the parameter
program (`PREPARE`) packs it at the start of every call, in native code, into memory that belongs to the call's frame.
Forward and backward share arenas, since they never run at the same time on behalf of one thread, and take what they
return from one pool.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

from strop.core.journal import Journal
from strop.core.options import Options
from strop.driver.artifact import Artifact
from strop.driver.pipeline import target_for
from strop.graph.ir import Graph, Node
from strop.runtime.frames import Arenas, BoundTensors, CallFrame
from strop.runtime.packed import PackedStore, Sharing, dense, laid_out
from strop.runtime.program import NOT_FINITE, NativeProgram, compiled_for
from strop.runtime.specializations import RunnableProgram
from strop.runtime.tensor_pool import TensorPool
from strop.target.description import Target


@dataclass(frozen=True)
class StepMemory:
    """What the programs of one training step share."""

    tensors: TensorPool = field(default_factory=TensorPool)
    arenas: Arenas = field(default_factory=Arenas)

    @property
    def bytes(self) -> int:
        """What stays between two steps, packed weights apart."""
        return self.tensors.bytes + self.arenas.bytes


Half = Literal["forward", "backward"]


def build_step(
    half: Half,
    graph: Graph,
    weights: Sequence[int],
    memory: StepMemory,
    options: Options,
    journal: Journal,
    threads: int,
) -> StepProgram:
    """Compile one half of a training step; `weights` are the places of parameters among the graph's inputs."""
    packed, ordered = step_graph(half, graph, weights, target_for(options))
    compiled = compiled_for(ordered, options, journal, threads)

    def direct() -> StepProgram:
        journal.add("fallback", "numerics", NOT_FINITE)
        return build_step(half, graph, weights, memory, options.direct, journal, threads)

    with journal.step("load"):
        return StepProgram(compiled, options, packed, memory, direct, last_first=half == "backward")


def step_graph(half: Half, graph: Graph, weights: Sequence[int], target: Target) -> tuple[list[int], Graph]:
    """Which weights a half packs, and its graph as it is compiled: backward computes the last gradients first."""
    packed = worth_packing(graph, weights, target)
    return packed, with_params(last_first(graph) if half == "backward" else graph, packed)


class StepProgram(NativeProgram):
    """Callable with all inputs of the graph; those at the places `params` are parameters of the compiled program."""

    def __init__(
        self,
        compiled: Artifact,
        options: Options,
        params: Sequence[int],
        memory: StepMemory,
        direct: Callable[[], NativeProgram] | None = None,
        last_first: bool = False,
    ) -> None:
        super().__init__(compiled, options, direct, memory.arenas)
        self._last_first = last_first
        others = [i for i in range(len(compiled.inputs) + len(params)) if i not in set(params)]
        constants = len(compiled.params) - len(params)
        self._params = tuple(zip(params, compiled.params[constants:]))
        self._inputs = [*zip(others, compiled.inputs), *self._params]
        self._constants: list[tuple[int, Tensor]] = []
        self._pool = memory.tensors
        self._sized = [(*fresh, _bytes(fresh[1], fresh[3].itemsize)) for fresh in self._fresh]
        self._memory.bound = BoundTensors({}, {}, [])
        memory.arenas.reserve(compiled.temporary_bytes)

    def bind(self, params: Sequence[Tensor], sharing: Sharing | None = None) -> None:
        """Take the tensors that the graph itself holds, which never change."""
        self._constants = [(slot, dense(tensor)) for slot, tensor in zip(self.compiled.params, params)]
        self._again.bind(params, sharing or Sharing(PackedStore(), range(len(params))))

    def __call__(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        self._pool.next_call()
        generator = torch.get_rng_state() if self._draws and self.compiled.about.watches else None
        frame = self._memory.take_own(self._equip)
        slots = frame.slots
        for place, slot in self._inputs:
            slots[slot] = inputs[place].data_ptr()
        for slot, constant in self._constants:
            slots[slot] = constant.data_ptr()
        made = []
        for slot, shape, strides, dtype, size in self._sized:
            tensor = self._pool.empty(shape, strides, dtype, size)
            slots[slot] = tensor.data_ptr()
            made.append(tensor)
        if self._prepare is not None:
            self._prepare(*frame.arguments)
        if self._only is not None:
            self._only(*frame.arguments)
            results = tuple(made)
        else:
            params = {slot: inputs[place] for place, slot in self._params}
            bound = BoundTensors({**params, **dict(self._constants)}, {}, [])
            given = [inputs[place] for place, _ in self._inputs[: len(self.compiled.inputs)]]
            results = self._run_steps(frame, bound, given, made)
        if self._last_first:
            results = results[::-1]
        if self._memory.done(frame):
            return results
        if generator is not None:
            torch.set_rng_state(generator)
        return self._again.results(inputs, results)

    def _equip(self, frame: CallFrame) -> None:
        """Memory for the weights that the frame's calls pack, and which sections of the parameter program run: all."""
        compiled = self.compiled
        addresses, held = laid_out({i: packed.bytes for i, packed in enumerate(compiled.packed)})
        frame.wanted = array("B", [1] * max(len(compiled.sections), 1))
        frame.slots[compiled.slots - 1] = frame.wanted.buffer_info()[0]
        frame.bind(BoundTensors({}, {compiled.packed[i].slot: (held, at) for i, at in addresses.items()}, []))


def last_first(graph: Graph) -> Graph:
    """The graph with its outputs in reverse order, in which their nodes are computed.

    Gradients are asked for in the order of the parameters, and backward reaches the last ones first: in that order a
    layer's weight gradient is computed while the gradient that it is made of is at hand.
    """
    return replace(graph, outputs=graph.outputs[::-1])


def worth_packing(graph: Graph, weights: Sequence[int], target: Target) -> list[int]:
    """The weights that a program packs at every call.

    A product that reads a weight along its rows (`matmul(dy, weight)`, a backward's, or that of a 1×1 convolution)
    reads it as it is, unless the weight is far larger than L2: on Zen 5 that takes as long as with a packed weight of
    2.4 MB, and 1.5 times as long with one of 39 MB, of which packing takes a sixth. A large
    vocabulary's is packed in the arena, for its loss alone.
    """
    found = []
    for place in weights:
        node = graph.inputs[place]
        if any(user.op.startswith("linear_cross_entropy") for user in graph.users[node]):
            continue
        as_it_is = all(_reads_rows(user, node) for user in graph.users[node]) and node.type.bytes <= 4 * target.l2
        if graph.users[node] and node not in graph.roots and not as_it_is:
            found.append(place)
    return found


def _reads_rows(user: Node, weight: Node) -> bool:
    if user.inputs[0] is weight or len(user.inputs) < 2 or user.inputs[1] is not weight:
        return False
    if user.op == "conv":
        return bool(user.attrs["transposed"]) and user.attrs["groups"] == 1 and set(weight.shape[2:]) == {1}
    return user.op == "matmul"


def with_params(graph: Graph, places: Sequence[int]) -> Graph:
    """The graph with some of its inputs as parameters."""
    chosen = {graph.inputs[place] for place in places}
    new: dict[Node, Node] = {n: replace(n, op="param", attrs={"key": n.name}) for n in chosen}
    inputs = [node for node in graph.inputs if node not in chosen]
    new.update((node, replace(node, attrs={"index": i})) for i, node in enumerate(inputs))
    changed = graph.map(new)
    return replace(
        changed,
        inputs=tuple(new[node] for node in inputs),
        params=(*graph.params, *(new[graph.inputs[place]] for place in places)),
    )


def _bytes(shape: Sequence[int], item: int) -> int:
    for extent in shape:
        item *= extent
    return item


StepBuild = Callable[[Half, Graph, Sequence[int], StepMemory, Options, Journal, int], RunnableProgram]
