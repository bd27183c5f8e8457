"""The Dynamo backend: `torch.compile(model, backend="strop")`.

AOTAutograd turns what Dynamo traced into a functional graph and takes care of mutations and of outputs that alias
inputs. Where no gradient can be wanted, it is kept from taking attention, norms and recurrent networks apart.
Parameters are placeholders like any other there; `static_input_indices` tells them apart. From the second shape on
Dynamo hands over one graph with SymInt placeholders for all shapes to come, so a `DynamoPiece` binds them per call and
keeps variants of its own. Graphs that need gradients run as they are.

What fails while native code is made leaves the graph to eager mode, with a warning: a `Problem`, or an exception of the
compiler itself, of which type and place are told. Nothing else is caught. What running raises, native code or the graph
as it is, is what eager mode would raise and goes to the caller; so does a `MemoryError` wherever it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._guards import TracingContext
from torch._inductor import config as inductor_config
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from strop.core.extensions import registry
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.frontend.torch.keep_composites import keeping_composites
from strop.frontend.torch.random_operators import name_draws
from strop.runtime.dispatch import ALONE
from strop.runtime.guards import differentiates
from strop.runtime.half_precision import reason_for_eager
from strop.runtime.outputs import Alias, Computed, Output, trace_back
from strop.runtime.specializations import Build, Eager, Specialization, Specializations, Traced, refusal
from strop.runtime.state import Supplied
from strop.runtime.threads import is_forked

#: what was compiled through `torch.compile(backend="strop")` in this process, and what was not
JOURNAL = Journal()


def backend(
    graph_module: GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    **unknown: Any,
) -> Callable[..., Any]:
    """Registered with torch under the name `strop`; `options` are those of `strop.Options`."""
    if unknown:
        raise Problem("STR001", f"the backend takes no `{next(iter(unknown))}`",
                      help='torch.compile(model, backend="strop", options={"max_variants": 4})')  # fmt: skip
    if options and options.get("release"):
        raise Problem("STR001", "`release` is an option of strop.compile: here the parameters are the caller's",
                      help="leave it out")  # fmt: skip
    return Backend(Options.from_environment(**(options or {})))(graph_module, example_inputs)


class Backend:
    """A Dynamo backend with fixed options; what it does goes into `journal`."""

    def __init__(self, options: Options, journal: Journal = JOURNAL, build: Build | None = None) -> None:
        from strop.runtime.compile_model import default_build

        self.options = options.under(torch.get_float32_matmul_precision())
        self.journal = journal
        self.build = build or default_build

    def __call__(self, graph_module: GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        registry.load(self.journal)
        pieces: list[DynamoPiece] = []
        inference = partial(self._inference, pieces=pieces)
        training = TrainingGraphs(self)
        through = aot_autograd(
            fw_compiler=training.forward,
            bw_compiler=training.backward,
            partition_fn=training.partition,
            inference_compiler=inference,
        )
        name_draws(graph_module)
        whole = nullcontext() if _needs_gradients(graph_module, example_inputs) else keeping_composites()
        with whole, inductor_config.patch(fallback_random=True):  # or else torch drops draws that nobody uses
            compiled = through(graph_module, example_inputs)
        return graph_module.forward if pieces and all(piece.left for piece in pieces) else compiled

    def _inference(
        self, graph_module: GraphModule, example_inputs: Sequence[Any], *, pieces: list[DynamoPiece]
    ) -> Callable[..., Any]:
        context = TracingContext.try_get()
        described = context.fw_metadata if context is not None else None
        static = described.static_input_indices if described is not None else ()
        mutated = described.mutated_inp_runtime_indices if described is not None else ()
        piece = DynamoPiece(self, graph_module, [i for i in static if i not in mutated])
        if not piece.symbolic:
            piece.prepare(example_inputs)
        pieces.append(piece)
        return piece.boxed()


class DynamoPiece:
    """One inference graph with the variants that its shapes called for."""

    def __init__(self, owner: Backend, graph_module: GraphModule, static: Sequence[int]) -> None:
        self.owner = owner
        self.graph_module = graph_module
        self.placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
        self.static = [i for i in static if isinstance(self.placeholders[i].meta.get("val"), Tensor)]
        self.given = [i for i in range(len(self.placeholders)) if i not in set(self.static)]
        self.parameters = Supplied(tuple(self.placeholders[i].name for i in self.static))
        self.variants = Specializations(owner.options.max_variants)
        self.symbolic = any(_is_symbolic(node.meta.get("val")) for node in self.placeholders)
        self.left = ""  # why all of its calls run eager
        self._name = _name(graph_module)
        self._said: set[str] = set()

    def prepare(self, example_inputs: Sequence[Any]) -> None:
        """Compile ahead of the first call, as the shapes are fixed."""
        found = self._compiled([example_inputs[i] for i in self.given], None)
        if isinstance(found, str):
            self._say(found)

    @property
    def threads(self) -> int:
        return self.owner.options.threads or torch.get_num_threads()

    def boxed(self) -> Callable[[list[Any]], Any]:
        def call(args: list[Any]) -> Any:
            taken = tuple(args)
            args.clear()
            return self.call(taken)

        call._boxed_call = True  # type: ignore[attr-defined]
        return call

    def call(self, args: tuple[Any, ...]) -> Any:
        if is_forked() and ALONE not in self._said:
            self._said.add(ALONE)
            self.owner.journal.add("note", self._name, ALONE)
        leaves = [args[i] for i in self.given]
        parameters = [args[i] for i in self.static]
        if any(map(Tensor.is_inference, parameters)):
            return self._eager("a parameter was made under inference_mode: it has no version counter", args)
        if differentiates():
            return self._eager("under forward-mode differentiation", args)
        variant = self._compiled(leaves, args)
        if isinstance(variant, str):
            return self._eager(variant, args)
        snapshot = self.parameters.look(parameters)
        program = variant.ready(self.threads, snapshot)
        return variant.run(program, _tensors(leaves), snapshot)

    def _compiled(self, leaves: Sequence[Any], args: tuple[Any, ...] | None) -> Specialization | str:
        """A variant with code for the threads that there are, or why there is none. Nothing of the graph runs here."""
        if self.left:
            return self.left
        of = 0, _key(leaves), _tensors(leaves)
        try:
            found = self.variants.find(*of)
            variant = self.variants.make(*of, lambda: self._trace(args)) if found is None else found
            if isinstance(variant, Specialization):
                variant.compile(self.threads)
            return variant
        except MemoryError:
            raise
        except Exception as error:
            return refusal(error)

    def _eager(self, reason: str, args: tuple[Any, ...]) -> Any:
        self._say(reason)
        return self.graph_module(*args)

    def _trace(self, args: tuple[Any, ...] | None) -> Specialization | Eager:
        from strop.frontend.torch.normalize import from_fx

        owner = self.owner
        examples = args if self.symbolic else None
        with owner.journal.step("compile a variant", model=self._name), torch.inference_mode(False), torch.no_grad():
            names = {self.placeholders[i].name: self.placeholders[i].name for i in self.static}
            conversion = from_fx(self.graph_module, examples, params=names)
            self.left = reason_for_eager(conversion.graph)
            if self.left:
                return Eager(self.left)
            returned, spec = pytree.tree_flatten(self.graph_module.graph.output_node().args[0])
            leaves = [_number_or_node(leaf) for leaf in returned]
            outputs = [self._output(leaf, output) for leaf, output in zip(leaves, trace_back(leaves, self._sources()))]
            traced = Traced(conversion.graph, tuple(outputs), spec, conversion.constants)
            variant = Specialization(
                traced, lambda graph, threads: owner.build(graph, owner.options, owner.journal, threads)
            )
            variant.compile(self.threads)
            return variant

    def _sources(self) -> dict[str, int | str]:
        tensors = [i for i in self.given if isinstance(self.placeholders[i].meta["val"], Tensor)]
        given = {self.placeholders[i].name: position for position, i in enumerate(tensors)}
        return {**given, **{key: key for key in self.parameters.keys}}

    def _output(self, leaf: Any, output: Output) -> Output:
        """Later graphs and AOTAutograd's own view replay rely on the strides that were traced."""
        if not isinstance(leaf, Node):
            return output
        value = leaf.meta["val"]
        if not isinstance(output, Computed) or not isinstance(value, Tensor) or value.is_contiguous():
            return output
        return Alias(output, (_restride(tuple(value.shape), tuple(value.stride())),))

    def _say(self, reason: str) -> None:
        if reason not in self._said:
            self._said.add(reason)
            tell = self.owner.journal.add if reason == self.left else self.owner.journal.warn
            tell("fallback", self._name, f"runs eager: {reason}")


class TrainingGraphs:
    """The forward and the backward graph of one training step."""

    def __init__(self, owner: Backend) -> None:
        self.owner = replace_winograd(owner)

    def partition(self, joint: GraphModule, joint_inputs: Any, **settings: Any) -> tuple[GraphModule, GraphModule]:
        return min_cut_rematerialization_partition(joint, joint_inputs, **settings)

    def forward(self, graph_module: GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        return self._piece(graph_module, example_inputs)

    def backward(self, graph_module: GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        return self._piece(graph_module, example_inputs)

    def _piece(self, graph_module: GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        piece = DynamoPiece(self.owner, graph_module, ())
        if not piece.symbolic:
            piece.prepare(example_inputs)
        return piece.boxed()

def replace_winograd(owner):
    return Backend(replace(owner.options, winograd=False), owner.journal, owner.build)

def _needs_gradients(graph_module: GraphModule, example_inputs: Sequence[Any]) -> bool:
    """Whether AOTAutograd may trace a backward graph, through which no operator that is kept whole passes."""
    tensors = (value for value in example_inputs if isinstance(value, Tensor))
    return torch.is_grad_enabled() and any(t.requires_grad for t in chain(tensors, graph_module.parameters()))


def _restride(shape: tuple[int, ...], stride: tuple[int, ...]) -> Callable[[Tensor], Tensor]:
    return lambda tensor: torch.empty_strided(shape, stride, dtype=tensor.dtype).copy_(tensor)


def _number_or_node(leaf: Any) -> Any:
    """Sizes are returned as numbers; binding the shapes has told which."""
    return leaf.meta["val"] if isinstance(leaf, Node) and not isinstance(leaf.meta["val"], Tensor) else leaf


def _tensors(leaves: Sequence[Any]) -> list[Tensor]:
    return [leaf for leaf in leaves if isinstance(leaf, Tensor)]


def _key(leaves: Sequence[Any]) -> Hashable:
    return tuple(leaf.shape if isinstance(leaf, Tensor) else leaf for leaf in leaves)


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not all(isinstance(extent, int) for extent in (*value.shape, *value.stride()))
    return value is not None


def _name(graph_module: GraphModule) -> str:
    for node in graph_module.graph.nodes:
        stack = node.meta.get("nn_module_stack")
        if stack:
            return str(next(iter(stack.values()))[1]).rsplit(".", 1)[-1].rstrip("'>")
    return "graph"
