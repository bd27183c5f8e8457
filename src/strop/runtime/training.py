"""Training through the Dynamo backend: one graph of forward and backward, divided in two and compiled.

AOTAutograd traces the joint graph, asks `TrainingGraphs.partition` to divide it, and calls what `forward` and
`backward` make of the halves. The halves stay FX graphs that eager mode can run: where one of them cannot be compiled,
the other still is, and what passes between them is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import torch
from torch import SymInt, Tensor
from torch._decomp import get_decompositions
from torch._functorch.partitioners import _extract_fwd_bwd_modules, min_cut_rematerialization_partition
from torch._guards import TracingContext
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from strop.core.garbage import undisturbed
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.driver.pipeline import target_for
from strop.frontend.torch.joint import (
    early_nodes,
    is_plain,
    joint_from_fx,
    keep_draws,
    kept_nodes,
    lost_inputs,
    with_blocks,
    without_idle_draws,
)
from strop.frontend.torch.strides import restrided, strides_like
from strop.graph.images import (
    from_channels_last,
    images,
    returning_channels_last,
    taking_channels_last,
    to_channels_last,
)
from strop.graph.ir import Graph, Handover, Node
from strop.graph.joint import LEAVES, JointGraph
from strop.runtime.dynamo_piece import DynamoPiece, name_of
from strop.runtime.outputs import Alias, Computed, Output, PlainValue
from strop.runtime.packed import all_dense
from strop.runtime.specializations import RunnableProgram, Specialization, Traced, refusal
from strop.runtime.step_memory import StepMemory
from strop.runtime.step_program import Half
from strop.runtime.tensor_pool import LEAST_BYTES
from strop.schedule.choose_loss_blocks import of_losses, plan_losses
from strop.schedule.memory import padded
from strop.schedule.rematerialization import plan_partition

if TYPE_CHECKING:
    from strop.runtime.dynamo import Backend

Boxed = Callable[[list[Any]], Any]
_aten = torch.ops.aten
#: problems with what the caller asked for: passes, budgets
_OF_THE_CALLER = ("STR301", "STR302", "STR308")
#: operators whose parts are worth keeping or computing again by themselves, as their own writing in others
TAKEN_APART = (
    _aten._native_batch_norm_legit_functional.default,
    _aten.native_batch_norm_backward.default,
    _aten.threshold_backward.default,  # which elements a ReLU lets through is a quarter of what it was given
    _aten.hardtanh_backward.default,
)


def decompositions() -> dict[Any, Callable[..., Any]]:
    return dict(get_decompositions(TAKEN_APART))


class TrainingGraphs:
    """The forward and the backward graph of one training step, and the memory that their programs share."""

    def __init__(self, owner: Backend) -> None:
        self.owner = owner
        self.memory = StepMemory()
        self.weights: frozenset[str] = frozenset()
        self.kept: tuple[str, ...] = ()  # what lies in the step's memory between the halves, by names of FX nodes
        self.channels_last: frozenset[str] = frozenset()  # what is kept that way: images, by the names of FX nodes
        self.results = 0  # of the forward graph's outputs, those that are not kept for the backward graph
        self.joint: JointGraph | None = None  # with what is kept, where that is our own choice
        self.described: Any = None  # AOTAutograd's description of the graph
        self.autocast = torch._C._is_any_autocast_enabled()
        self.halves: tuple[TrainingPiece, TrainingPiece] | None = None  # once both are compiled
        self._forward: TrainingPiece | None = None

    def partition(
        self,
        joint: GraphModule,
        joint_inputs: Any,
        *,
        num_fwd_outputs: int,
        static_lifetime_input_indices: Sequence[int] | None = None,
    ) -> tuple[GraphModule, GraphModule]:
        """Divide a joint graph; by our own choice of what is kept, unless torch has to be left to its own."""
        self.results = num_fwd_outputs
        self.weights = _weights(joint, static_lifetime_input_indices or ())
        owner, name = self.owner, name_of(joint)
        reason = is_plain(joint)
        if not reason:
            try:
                with owner.journal.step("partition", model=name):
                    return self._divided(joint)
            except MemoryError:
                raise
            except Exception as error:
                if isinstance(error, Problem) and error.code in _OF_THE_CALLER:
                    raise
                reason = refusal(error)
        owner.journal.add("fallback", name, f"divided by torch's own partition: {reason}")
        keep_draws(joint)
        return min_cut_rematerialization_partition(
            joint,
            joint_inputs,
            num_fwd_outputs=num_fwd_outputs,
            static_lifetime_input_indices=list(static_lifetime_input_indices or ()),
        )

    def _divided(self, joint: GraphModule) -> tuple[GraphModule, GraphModule]:
        options, journal = self.owner.options, self.owner.journal
        joint.graph.eliminate_dead_code()
        conversion = joint_from_fx(joint, self.results)
        target = target_for(options)
        on_losses, edits = of_losses(Pass.parse_all(options.partition))
        blocked, _ = plan_losses(conversion.joint, target, options.memory, journal, on_losses)
        conversion = with_blocks(conversion, joint, self.results, blocked)
        made, _ = plan_partition(conversion.joint, target, options.memory, journal, edits)
        self.joint = made
        kept = kept_nodes(conversion, joint, made.handed_over)
        sizes = [node for node in early_nodes(joint) if isinstance(node.meta.get("val"), SymInt)]
        for _ in range(2):  # the second time without what only draws of backward would have needed
            forward, backward = _extract_fwd_bwd_modules(joint, kept, sizes, num_fwd_outputs=self.results)
            used = without_idle_draws(backward)
            kept = [node for node in kept if node.name in used]
        lost = lost_inputs(joint, backward)
        if lost:
            raise Problem("STR107", f"an operator that would be computed again reads `{lost}`, which forward writes to")
        return forward, backward

    def forward(self, graph_module: GraphModule, example_inputs: Sequence[Any]) -> Boxed:
        self._forward = TrainingPiece(self, graph_module, "forward", self.results)
        return self._compiled(self._forward, example_inputs)

    def backward(self, graph_module: GraphModule, example_inputs: Sequence[Any]) -> Boxed:
        context = TracingContext.try_get()
        if context is not None and context.fw_metadata is not None:
            context.fw_metadata.bw_donated_idxs = []  # or else torch refuses to retain graphs: `StepMemory` copies then
            self.described = context.fw_metadata
        piece = TrainingPiece(self, graph_module, "backward", 0)
        compiled = self._compiled(piece, example_inputs)
        if self._forward is not None:
            self.halves = self._forward, piece
        return compiled

    def _compiled(self, piece: TrainingPiece, example_inputs: Sequence[Any]) -> Boxed:
        if not piece.symbolic:
            with undisturbed():
                piece.prepare(example_inputs)
        return piece.boxed()


class TrainingPiece(DynamoPiece):
    """The forward or the backward graph of a step. All that it takes changes from call to call, weights included.

    The first `results` outputs are the caller's, with the strides that were traced. Others are kept for the backward
    graph, or gradients, of which nobody expects certain strides: they are contiguous.
    """

    def __init__(self, step: TrainingGraphs, graph_module: GraphModule, half: Half, results: int) -> None:
        super().__init__(step.owner, graph_module, ())
        self.step = step
        self.half = half
        self.results = results
        tensors = [node for node in self.placeholders if isinstance(node.meta.get("val"), Tensor)]
        self.weights = [i for i, node in enumerate(tensors) if node.name in step.weights]
        self.takes_tensors = len(tensors) == len(self.placeholders)
        self.returned: list[Any] = list(pytree.tree_leaves(graph_module.graph.output_node().args[0]))
        self.unbound = self.parameters.look([])
        self._fixed: Specialization | None = None  # the only variant, where all shapes are known
        self._picked: Callable[[Sequence[Any]], tuple[Any, ...]] | None = None  # its results, of all that it deals with
        self._kept: dict[Node, str] = {}  # results for backward alone, by the names of FX nodes
        self._lasting: frozenset[Any] = frozenset()  # tensors that some result is a view of
        self._given: list[int] = []  # tensors that forward kept, but for those that are turned
        self._turned: dict[int, tuple[int, ...]] = {}  # tensors that it takes channels last, and their dimensions so

    def call(self, args: list[Any]) -> Any:
        """The list is emptied: whoever else holds nothing of it lets it go."""
        fixed, threads = self._fixed, self.threads
        if fixed is None or not fixed.is_compiled(threads):
            found = self._ready(tuple(args))
            if isinstance(found, str):
                return self._eager(found, tuple(args))
            fixed = found
        tensors = args[:] if self.takes_tensors else [arg for arg in args if isinstance(arg, Tensor)]
        args.clear()
        for place in self._given:  # so that memory is held twice where somebody else holds the same tensor
            tensors[place] = tensors[place].detach()
        for place, dims in self._turned.items():
            tensors[place] = tensors[place].permute(dims).detach()  # a view would hold what it is a view of
        program = fixed.ready(threads, self.unbound)
        if self._picked is None or fixed is not self._fixed:
            return fixed.run(program, tensors, self.unbound)
        return self._picked((*program(all_dense(tensors)), *tensors, None))

    def _ready(self, args: tuple[Any, ...]) -> Specialization | str:
        variant = self._compiled(args, args)
        if isinstance(variant, Specialization) and not self.symbolic:
            self._picked = _picked(variant)
            self._fixed = variant
        return variant

    def _handed_over(self, traced: Traced) -> Traced:
        """Images that forward keeps for backward lie channels last in both halves.

        What passes between them are tensors of the traced shapes whose strides are others, so that hooks on saved
        tensors, and eager mode in the place of either half, see what they expect.
        """
        if self.half == "forward":
            kept = self._kept_alone(traced)
            made = traced if self.symbolic else self._keeping_images(traced)
            self._kept.update((made.graph.outputs[index], name) for index, name in kept.items())
            self.step.kept = tuple(kept.values())
            return made
        self._lasting = frozenset(output.source for output in traced.outputs if isinstance(output, Alias))
        made = traced if self.symbolic else self._taking_images(traced)
        tensors = [node for node in self.placeholders if isinstance(node.meta.get("val"), Tensor)]
        taken = [i for i, node in enumerate(tensors) if node.name in self.step.kept and i not in self._turned]
        self._given = [i for i in taken if made.graph.inputs[i].type.bytes >= LEAST_BYTES]
        return made

    def _kept_alone(self, traced: Traced) -> dict[int, str]:
        """The computed tensors that nobody but backward sees, each under one name, in the order of the graph."""
        returned = list(pytree.tree_leaves(self.graph_module.graph.output_node().args[0]))
        shown = Counter(output.source if isinstance(output, Alias) else output for output in traced.outputs)
        made = Counter(traced.graph.roots)
        found: dict[Any, int] = {}
        for node, output in list(zip(returned, traced.outputs))[self.results :]:
            if isinstance(output, Computed) and shown[output] == 1:
                value = traced.graph.outputs[output.index]
                if made[value] == 1 and value.op not in LEAVES:
                    found[node] = output.index
        return {found[node]: node.name for node in self.graph_module.graph.nodes if node in found}

    def _handover(self, graph: Graph) -> Handover:
        """The places of what forward keeps, one after the other, as forward computes it and backward reads it last."""
        tensors = [node for node in self.placeholders if isinstance(node.meta.get("val"), Tensor)]
        if self.half == "forward":
            named = {self._kept[node]: i for i, node in enumerate(graph.outputs) if node in self._kept}
            values: Sequence[Node] = graph.outputs
        else:
            named, values = {node.name: i for i, node in enumerate(tensors)}, graph.inputs
        places: list[tuple[int, int]] = []
        end = 0
        for name in self.step.kept:
            size = values[named[name]].type.bytes if name in named else 0
            if size >= LEAST_BYTES:
                places.append((named[name], end))
                end += padded(size)
        if self.half == "forward":
            return Handover(outputs=tuple(places))
        gradients = [(i, None) for i, node in enumerate(graph.outputs) if node.type.bytes >= LEAST_BYTES]
        lasting = tuple(place for place, _ in places if place in self._lasting)
        return Handover(tuple(places), lasting, tuple(gradients))

    def _keeping_images(self, traced: Traced) -> Traced:
        returned = list(pytree.tree_leaves(self.graph_module.graph.output_node().args[0]))
        found = images(traced.graph)
        kept: dict[int, str] = {}
        for node, output in list(zip(returned, traced.outputs))[self.results :]:
            if isinstance(output, Computed) and traced.graph.outputs[output.index] in found:
                kept[output.index] = node.name
        self.step.channels_last = frozenset(kept.values())
        outputs = tuple(_turned_back(output, traced.graph, kept) for output in traced.outputs)
        return replace(traced, graph=returning_channels_last(traced.graph, kept), outputs=outputs)

    def _taking_images(self, traced: Traced) -> Traced:
        graph = traced.graph
        fixed = {output.source for output in traced.outputs if isinstance(output, Alias)}
        fixed |= {int(target.attrs["index"]) for target, _ in graph.mutations if target.op == "input"}
        tensors = [node for node in self.placeholders if isinstance(node.meta.get("val"), Tensor)]
        kept = [i for i, node in enumerate(tensors) if node.name in self.step.channels_last and i not in fixed]
        self._turned = {place: to_channels_last(len(graph.inputs[place].shape)) for place in kept}
        return replace(traced, graph=taking_channels_last(graph, kept))

    def _build(self, graph: Graph, threads: int) -> RunnableProgram:
        owner = self.owner
        options = owner.options.for_gradients
        graph = replace(graph, handover=self._handover(graph))
        return owner.build_step(self.half, graph, self.weights, self.step.memory, options, owner.journal, threads)

    def _output(self, place: int, leaf: Any, output: Output) -> Output:
        return super()._output(place, leaf, output) if place < self.results else output

    def _eager(self, reason: str, args: tuple[Any, ...]) -> Any:
        return super()._eager(reason, self._as_traced(args))

    def _as_traced(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Those of what was kept may be others."""
        return tuple(map(_with_traced_strides, self.placeholders, args))


def _with_traced_strides(placeholder: Any, value: Any) -> Any:
    traced = placeholder.meta.get("val")
    if not isinstance(value, Tensor) or not isinstance(traced, Tensor):
        return value
    strides = strides_like(value.shape, traced.stride())
    return value if value.stride() == strides else restrided(value, strides)


def _turned_back(output: Output, graph: Graph, kept: Collection[int]) -> Output:
    """What is made of a computed tensor where the program makes it channels last."""
    source = output.source if isinstance(output, Alias) else output
    if not isinstance(source, Computed) or source.index not in kept:
        return output
    dims = from_channels_last(len(graph.outputs[source.index].shape))
    steps = output.steps if isinstance(output, Alias) else ()
    return Alias(source, (lambda tensor: tensor.permute(dims), *steps))


def _picked(variant: Specialization) -> Callable[[Sequence[Any]], tuple[Any, ...]] | None:
    """How a variant's results are picked from what it made, what it was given and None, where that is all there is to
    do: gradients, and what is kept, are many."""
    if variant.targets or variant.idle or variant.buffers or len(variant.outputs) < 2:
        return None
    made, places = len(variant.graph.outputs), []
    given = len(variant.graph.inputs)
    for output in variant.outputs:
        if isinstance(output, Computed):
            places.append(output.index)
        elif isinstance(output, Alias) and isinstance(output.source, int) and not output.steps:
            places.append(made + output.source)
        elif isinstance(output, PlainValue) and output.constant is None:
            places.append(made + given)
        else:
            return None
    return itemgetter(*places)


def _weights(joint: GraphModule, places: Sequence[int]) -> frozenset[str]:
    """The placeholders that are parameters or buffers: what they hold changes once in a step."""
    primals = [node for node in joint.graph.nodes if node.op == "placeholder" and "tangents" not in str(node.target)]
    return frozenset(primals[place].name for place in places)
