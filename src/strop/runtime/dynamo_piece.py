"""One graph that Dynamo handed over, with the variants that its shapes called for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from strop.frontend.torch.normalize import from_fx
from strop.frontend.torch.strides import restrided
from strop.graph.ir import Graph
from strop.runtime.dispatch import ALONE
from strop.runtime.guards import differentiates
from strop.runtime.half_precision import reason_for_eager
from strop.runtime.outputs import Alias, Computed, Output, trace_back
from strop.runtime.specializations import Eager, RunnableProgram, Specialization, Specializations, Traced, refusal
from strop.runtime.state import Supplied
from strop.runtime.threads import is_forked

if TYPE_CHECKING:
    from strop.runtime.dynamo import Backend


class DynamoPiece:
    """A graph without a backward. Parameters are bound when they change."""

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
        self._name = name_of(graph_module)
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
            taken = [*args]
            args.clear()
            return self.call(taken)

        call._boxed_call = True  # type: ignore[attr-defined]
        return call

    def call(self, given: list[Any]) -> Any:
        """The list is the piece's own: whoever holds nothing but its arguments may empty it."""
        args = tuple(given)
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
        owner = self.owner
        examples = self._as_traced(args) if self.symbolic and args is not None else None
        with owner.journal.step("compile a variant", model=self._name), torch.inference_mode(False), torch.no_grad():
            names = {self.placeholders[i].name: self.placeholders[i].name for i in self.static}
            conversion = from_fx(self.graph_module, examples, params=names)
            self.left = reason_for_eager(conversion.graph)
            if self.left:
                return Eager(self.left)
            returned, spec = pytree.tree_flatten(self.graph_module.graph.output_node().args[0])
            leaves = [_number_or_node(leaf) for leaf in returned]
            found = trace_back(leaves, self._sources())
            outputs = [self._output(i, leaf, output) for i, (leaf, output) in enumerate(zip(leaves, found))]
            traced = Traced(conversion.graph, tuple(outputs), spec, conversion.constants)
            variant = Specialization(self._handed_over(traced), self._built)
            variant.compile(self.threads)
            return variant

    def _as_traced(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments with the strides that the graph's views were traced for."""
        return args

    def _handed_over(self, traced: Traced) -> Traced:
        """The graph as it is compiled: with tensors that only pieces see in the order that suits them."""
        return traced

    def _built(self, graph: Graph, threads: int) -> RunnableProgram:
        with unset_fake_temporarily():  # Dynamo calls a backend under a fake mode, in which constants have no values
            return self._build(graph, threads)

    def _build(self, graph: Graph, threads: int) -> RunnableProgram:
        return self.owner.build(graph, self.owner.options, self.owner.journal, threads)

    def _sources(self) -> dict[str, int | str]:
        tensors = [i for i in self.given if isinstance(self.placeholders[i].meta["val"], Tensor)]
        given = {self.placeholders[i].name: position for position, i in enumerate(tensors)}
        return {**given, **{key: key for key in self.parameters.keys}}

    def _output(self, place: int, leaf: Any, output: Output) -> Output:
        """Later graphs and AOTAutograd's own view replay rely on the strides that were traced."""
        if not isinstance(leaf, Node):
            return output
        value = leaf.meta["val"]
        if not isinstance(output, Computed) or not isinstance(value, Tensor) or value.is_contiguous():
            return output
        return Alias(output, (partial(restrided, strides=tuple(value.stride())),))

    def _say(self, reason: str) -> None:
        if reason not in self._said:
            self._said.add(reason)
            tell = self.owner.journal.add if reason == self.left else self.owner.journal.warn
            tell("fallback", self._name, f"runs eager: {reason}")


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


def name_of(graph_module: GraphModule) -> str:
    for node in graph_module.graph.nodes:
        stack = node.meta.get("nn_module_stack")
        if stack:
            return str(next(iter(stack.values()))[1]).rsplit(".", 1)[-1].rstrip("'>")
    return "graph"
