"""Programs of training steps: their parameters change at every call, and their memory stays.

A weight is an argument like any other here. Where a nest reads it in another order than it lies in, the program packs
it before its first reader. Both halves run in the blocks of `StepMemory`, with what one keeps for the other, gradients
and packed weights at planned places (`Handover`); what forward returns to the caller comes from a pool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

import torch
from torch import Tensor

from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.topological import topological
from strop.driver.artifact import Artifact
from strop.driver.pipeline import target_for
from strop.graph.ir import Graph, Handover, Node
from strop.graph.joint import Half as Half
from strop.graph.passes.wide_convolutions import in_parts
from strop.runtime.frames import BoundTensors
from strop.runtime.packed import PackedStore, Sharing, dense
from strop.runtime.program import NOT_FINITE, NativeProgram, compiled_for
from strop.runtime.specializations import RunnableProgram
from strop.runtime.step_memory import ForwardCall, StepBlock, StepMemory
from strop.runtime.tensor_pool import LEAST_BYTES, empty
from strop.schedule.operand_packing import FEWEST_SHARING
from strop.target.description import Target

#: times L2: a convolution of small images takes a weight that is larger in parts
LARGEST_WEIGHT = 4


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
    step = step_graph(half, graph, weights, target_for(options))
    compiled = compiled_for(step.graph, options, journal, threads)

    def direct() -> StepProgram:
        journal.add("fallback", "numerics", NOT_FINITE)
        return build_step(half, graph, weights, memory, options.direct, journal, threads)

    with journal.step("load"):
        return StepProgram(compiled, options, step, memory, direct)


@dataclass(frozen=True)
class StepGraph:
    """Half of a step as it is compiled."""

    graph: Graph
    params: tuple[int, ...]  # places of the weights that it packs, among the inputs of the half
    backward: bool  # whether outputs are in reverse order
    sources: tuple[int, ...]  # places of the inputs that what it keeps is computed from


def step_graph(half: Half, graph: Graph, weights: Sequence[int], target: Target) -> StepGraph:
    """Half of a step as it is compiled: some weights are parameters, those of some convolutions are read in parts, and
    backward computes the last gradients first."""
    graph = graph if graph.handover is not None else replace(graph, handover=Handover())
    graph = in_parts(graph, [graph.inputs[place] for place in weights], LARGEST_WEIGHT * target.l2)
    packed = worth_packing(graph, weights, target)
    ordered = last_first(graph) if half == "backward" else graph
    return StepGraph(with_params(ordered, packed), tuple(packed), half == "backward", _sources(graph))


class StepProgram(NativeProgram):
    """Callable with all inputs of the graph; those at the places `params` are parameters of the compiled program."""

    def __init__(
        self,
        compiled: Artifact,
        options: Options,
        step: StepGraph,
        memory: StepMemory,
        direct: Callable[[], NativeProgram] | None = None,
    ) -> None:
        super().__init__(compiled, options, direct)
        self._half = step
        params = step.params
        others = [i for i in range(len(compiled.inputs) + len(params)) if i not in set(params)]
        constants = len(compiled.params) - len(params)
        self._params = tuple(zip(params, compiled.params[constants:]))
        self._inputs = [*zip(others, compiled.inputs), *self._params]
        self._constants: list[tuple[int, Tensor]] = []
        placed = dict(compiled.placed)
        self._given = [(place, placed[slot]) for place, slot in zip(others, compiled.inputs) if slot in placed]
        self._sized = [(*fresh, _bytes(fresh[1], fresh[3].itemsize), placed.get(fresh[0])) for fresh in self._fresh]
        self._pools = any(size >= LEAST_BYTES and at is None for *_, size, at in self._sized)
        self._kept = {at: i for i, slot in enumerate(self._results) if (at := placed.get(slot)) is not None}
        self._shared = memory
        memory.tensors.keeps = options.memory == "fastest"
        memory.reserve(compiled.arena_bytes)
        memory.restores |= bool(self._given) and compiled.about.watches

    def bind(self, params: Sequence[Tensor], sharing: Sharing | None = None) -> None:
        """Take the tensors that the graph itself holds, which never change."""
        self._constants = [(slot, dense(tensor)) for slot, tensor in zip(self.compiled.params, params)]
        self._again.bind(params, sharing or Sharing(PackedStore(), range(len(params))))

    def __call__(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        shared = self._shared
        if self._pools:
            shared.tensors.next_call()
        generator = torch.get_rng_state() if self._draws and (self.compiled.about.watches or shared.restores) else None
        own = None
        if self._given:
            own = shared.take_with([(inputs[place], at, inputs[place].nbytes) for place, at in self._given])
        block = own or shared.take()
        try:
            moved = self._moved(inputs, block) if self._given and not own else inputs
            results, usable = self._run(moved, block)
            if not usable:
                if generator is not None:
                    torch.set_rng_state(generator)
                return self._again.results(self._restored(inputs, block) if own else inputs, results)
            if not self._half.backward:
                self._remember(block, inputs, generator)
            return results
        finally:
            if own:
                own.forward = None
            shared.give_back(block)

    def _run(self, inputs: Sequence[Tensor], block: StepBlock) -> tuple[tuple[Tensor, ...], bool]:
        """The results, and whether they may be used."""
        frame = self._memory.take_without_arena()
        if frame.arena_address != block.address:
            frame.run_in(block.memory, block.address)
        slots = frame.slots
        for place, slot in self._inputs:
            slots[slot] = inputs[place].data_ptr()
        for slot, constant in self._constants:
            slots[slot] = constant.data_ptr()
        made = []
        for slot, shape, strides, dtype, size, at in self._sized:
            if at is not None:
                tensor = block.tensor(at, size, shape, strides, dtype)
            elif size < LEAST_BYTES:
                tensor = empty(shape, strides, dtype)
            else:
                tensor = self._shared.tensors.empty(shape, strides, dtype, size)
            slots[slot] = tensor.data_ptr()
            made.append(tensor)
        if self._only is not None:
            self._only(*frame.arguments)
            results = tuple(made)
        else:
            params = {slot: inputs[place] for place, slot in self._params}
            bound = BoundTensors({**params, **dict(self._constants)}, {}, [])
            given = [inputs[place] for place, _ in self._inputs[: len(self.compiled.inputs)]]
            results = self._run_steps(frame, bound, given, made)
        if self._half.backward:
            results = results[::-1]
        return results, self._memory.done(frame)

    # ---- what forward keeps for backward ----

    def _moved(self, inputs: Sequence[Tensor], block: StepBlock) -> Sequence[Tensor]:
        """The inputs with those in the block that this program overwrites: somebody else may read the others."""
        moved = list(inputs)
        for place, at in self._given:
            given = moved[place]
            moved[place] = block.tensor(at, given.nbytes, given.shape, given.stride(), given.dtype).copy_(given)
        return moved

    def _remember(self, block: StepBlock, inputs: Sequence[Tensor], generator: Tensor | None) -> None:
        """Leave with the block how to compute once more what was kept in it, and whether hooks see that."""
        block.observed = torch._C._autograd._top_saved_tensors_default_hooks(True) is not None
        if not self._shared.restores:
            return
        sources = [inputs[place] for place in self._half.sources]
        if any(map(Tensor.is_inference, sources)):  # which have no version
            return
        block.forward = ForwardCall(partial(self._kept_again, inputs, generator), sources)

    def _kept_again(self, inputs: Sequence[Tensor], generator: Tensor | None) -> dict[int, Tensor]:
        """What a call of forward kept, by its places, computed once more."""
        now = torch.get_rng_state()
        if generator is not None:
            torch.set_rng_state(generator)
        try:
            made = self(inputs)
            return {at: made[i] for at, i in self._kept.items()}
        finally:
            torch.set_rng_state(now)

    def _restored(self, inputs: Sequence[Tensor], block: StepBlock) -> Sequence[Tensor]:
        """The inputs as they were before this program overwrote some."""
        assert block.forward is not None
        kept = block.forward.kept()
        restored = list(inputs)
        for place, at in self._given:
            restored[place] = kept[at].view(restored[place].dtype).view(restored[place].shape)
        return restored


def last_first(graph: Graph) -> Graph:
    """The graph with its outputs in reverse order, in which their nodes are computed.

    Gradients are asked for in the order of the parameters, and backward reaches the last ones first: in that order a
    layer's weight gradient is computed while the gradient that it is made of is at hand.
    """
    handover, last = graph.handover or Handover(), len(graph.outputs) - 1
    outputs = tuple((last - i, at) for i, at in handover.outputs)
    return replace(graph, outputs=graph.outputs[::-1], handover=replace(handover, outputs=outputs))


def worth_packing(graph: Graph, weights: Sequence[int], target: Target) -> list[int]:
    """The weights that a program packs at every call.

    Embeddings and products read a weight as it is, and products pack it panel by panel where that pays
    (`schedule/operand_packing.py`), but for those of a few rows that read across its rows (`linear`). Pointwise
    convolutions of a backward read it as it is too, unless it is far larger than L2. A large vocabulary's is turned for
    its loss some words at a time.
    """
    found = []
    for place in weights:
        node = graph.inputs[place]
        if any(user.op.startswith("linear_cross_entropy") for user in graph.users[node]):
            continue
        as_it_is = all(_reads_rows(user, node, target) for user in graph.users[node])
        if graph.users[node] and node not in graph.roots and not as_it_is:
            found.append(place)
    return found


def _reads_rows(user: Node, weight: Node, target: Target) -> bool:
    if user.op == "embedding":
        return user.inputs[0] is weight
    if user.inputs[0] is weight or len(user.inputs) < 2 or user.inputs[1] is not weight:
        return False
    if user.op == "conv":
        pointwise = user.attrs["groups"] == 1 and set(weight.shape[2:]) == {1}
        return bool(user.attrs["transposed"]) and pointwise and weight.type.bytes <= 4 * target.l2
    return user.op == "matmul" or (user.op == "linear" and prod(user.inputs[0].shape[:-1]) >= FEWEST_SHARING)


def with_params(graph: Graph, places: Sequence[int]) -> Graph:
    """The graph with some of its inputs as parameters."""
    chosen = {graph.inputs[place] for place in places}
    new: dict[Node, Node] = {n: replace(n, op="param", attrs={"key": n.name}) for n in chosen}
    inputs = [node for node in graph.inputs if node not in chosen]
    new.update((node, replace(node, attrs={"index": i})) for i, node in enumerate(inputs))
    changed = graph.map(new)
    handover, places_now = graph.handover or Handover(), {graph.inputs.index(node): i for i, node in enumerate(inputs)}
    given = tuple((places_now[i], at) for i, at in handover.inputs)
    lasting = tuple(places_now[i] for i in handover.lasting)
    return replace(
        changed,
        inputs=tuple(new[node] for node in inputs),
        params=(*graph.params, *(new[graph.inputs[place]] for place in places)),
        handover=replace(handover, inputs=given, lasting=lasting),
    )


def _sources(graph: Graph) -> tuple[int, ...]:
    """The inputs that outputs at fixed places are computed from."""
    assert graph.handover is not None
    found = set(topological([graph.outputs[i] for i, at in graph.handover.outputs if at is not None]))
    return tuple(place for place, node in enumerate(graph.inputs) if node in found)


def _bytes(shape: Sequence[int], item: int) -> int:
    for extent in shape:
        item *= extent
    return item


StepBuild = Callable[[Half, Graph, Sequence[int], StepMemory, Options, Journal, int], RunnableProgram]
