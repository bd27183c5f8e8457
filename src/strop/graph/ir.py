"""The operator graph: immutable nodes that point at their inputs.

    %conv1: f32[1,64,112,112] = conv(%x, %conv1.weight) {stride=(2, 2), …}    # net.py:41 conv1
    %relu: f32[n:1..64,128] = relu(%x)                                        # a batch that is known when it runs

A node is a value. A node with several results has several `types`; `item` nodes pick one.
Two nodes are the same only when they are the same object; `Graph.key` hashes the structure.
The operators and what their attributes mean are documented in `graph/operators.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from strop.core.dtypes import SIZES
from strop.core.extents import Extent, Shape, Symbol, evaluate, symbols
from strop.core.problem import Problem
from strop.core.topological import topological
from strop.core.values import cached_property
from strop.draw.layout import Arrow, homes, labelled
from strop.draw.notebook import graph_html


@dataclass(frozen=True, slots=True)
class Type:
    """What is known of a tensor before it runs."""

    dtype: str
    shape: Shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Extent:
        return prod(self.shape)

    @property
    def bytes(self) -> Extent:
        return self.size * SIZES[self.dtype]

    def bind(self, values: Mapping[str, int]) -> Type:
        """The type with numbers in the place of symbols."""
        return Type(self.dtype, tuple(evaluate(extent, values) for extent in self.shape))

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(repr, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where in the user's program a value comes from."""

    file: str = ""
    line: int = 0
    module: str = ""  # dotted path of the nn.Module, "layers.0.attn"

    def __str__(self) -> str:
        place = f"{self.file.rsplit('/', 1)[-1]}:{self.line}" if self.file else ""
        return " ".join(part for part in (place, self.module) if part)


NOWHERE = Origin()


@dataclass(frozen=True, eq=False)
class Node:
    """One operation. `attrs` holds plain Python values only (numbers, strings, tuples, None)."""

    op: str
    inputs: tuple[Node, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    types: tuple[Type, ...] = ()
    name: str = ""
    origin: Origin = NOWHERE
    absorbed: tuple[Origin, ...] = ()  # lines of what rewrites made a part of it; torch's own where the user has none

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Every line that it comes from, its own first."""
        return tuple(dict.fromkeys(one for one in (self.origin, *self.absorbed) if one.file))

    @property
    def type(self) -> Type:
        """The type of a node with one result."""
        if len(self.types) != 1:
            raise ValueError(f"{self.name}: `{self.op}` has {len(self.types)} results; take an `item`")
        return self.types[0]

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def dtype(self) -> str:
        return self.type.dtype

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same operation on other values (itself when nothing changed)."""
        if len(inputs) == len(self.inputs) and all(a is b for a, b in zip(inputs, self.inputs)):
            return self
        return replace(self, inputs=inputs)

    def __str__(self) -> str:
        types = ", ".join(map(str, self.types))
        inputs = ", ".join(f"%{i.name}" for i in self.inputs)
        attrs = " {" + ", ".join(f"{k}={v!r}" for k, v in sorted(self.attrs.items())) + "}" if self.attrs else ""
        comment = f"    # {self.origin}" if str(self.origin) else ""
        return f"%{self.name}: {types} = {self.op}({inputs}){attrs}{comment}"

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(frozen=True)
class Handover:
    """Which tensors of its caller lie in the arena of a program that is half of a training step.

    Forward writes what it keeps to fixed places, and backward finds it there: such an input takes its place until it is
    read for the last time (or until the end, if it is `lasting`). Gradients lie wherever there is room.
    """

    inputs: tuple[tuple[int, int], ...] = ()  # positions, with bytes from the start of the arena
    lasting: tuple[int, ...] = ()  # positions of inputs that some result is a view of
    outputs: tuple[tuple[int, int | None], ...] = ()  # positions, with places where these are fixed


@dataclass(frozen=True)
class Graph:
    """A whole program: what it takes, what it returns, what it writes back.

    `inputs` are nodes of op `input` in calling order; `params` are nodes of op `param` (parameters and
    buffers, values unknown to the compiler). `mutations` pairs an input or param with the value that it
    must hold when the program ends. Passes drop the `handover`: a program has it from its captured graph.
    """

    inputs: tuple[Node, ...]
    params: tuple[Node, ...]
    outputs: tuple[Node, ...]
    mutations: tuple[tuple[Node, Node], ...] = ()
    handover: Handover | None = None  # of half of a training step, from its making to its program

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every reachable node, inputs before users, in a fixed order."""
        return tuple(topological((*self.inputs, *self.params, *self.roots)))

    @property
    def roots(self) -> tuple[Node, ...]:
        return (*self.outputs, *(value for _, value in self.mutations))

    def with_roots(self, roots: Sequence[Node]) -> Graph:
        """The graph that computes other values in the place of its roots (itself when nothing changed)."""
        if all(new is old for new, old in zip(roots, self.roots)):
            return self
        count = len(self.outputs)
        mutations = tuple((target, value) for (target, _), value in zip(self.mutations, roots[count:]))
        return Graph(self.inputs, self.params, tuple(roots[:count]), mutations)

    @cached_property
    def users(self) -> Mapping[Node, tuple[Node, ...]]:
        found: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for used in dict.fromkeys(node.inputs):
                found[used].append(node)
        return {node: tuple(by) for node, by in found.items()}

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols in the types of its nodes, by name."""
        return symbols(extent for node in self.nodes for type_ in node.types for extent in type_.shape)

    def bind(self, values: Mapping[str, int]) -> Graph:
        """The graph with a number, between its bounds, in the place of every symbol."""
        for one in self.symbols:
            if one.name not in values:
                raise Problem("STR001", f"symbol {one} has no value", help=f"add it: {{'{one.name}': {one.low}}}")
            if not one.low <= values[one.name] <= one.high:
                raise Problem("STR001", f"symbol {one} cannot be {values[one.name]}", help="stay between its bounds")
        made: dict[Node, Node] = {}
        for node in self.nodes:
            inputs, types = tuple(made[i] for i in node.inputs), tuple(type_.bind(values) for type_ in node.types)
            made[node] = replace(node, inputs=inputs, types=types)
        return Graph(
            tuple(made[n] for n in self.inputs),
            tuple(made[n] for n in self.params),
            tuple(made[n] for n in self.outputs),
            tuple((made[target], made[value]) for target, value in self.mutations),
        )

    @cached_property
    def key(self) -> str:
        """A hash of everything that code generation may depend on (not names, not origins)."""
        number = {node: i for i, node in enumerate(self.nodes)}
        digest = hashlib.sha256()
        for node in self.nodes:
            inputs = [number[i] for i in node.inputs]
            digest.update(repr((node.op, inputs, sorted(node.attrs.items()), node.types)).encode())
        for nodes in (self.inputs, self.params, self.outputs):
            digest.update(repr([number[n] for n in nodes]).encode())
        digest.update(repr((self.symbols, self.handover)).encode())
        digest.update(repr([(number[a], number[b]) for a, b in self.mutations]).encode())
        return digest.hexdigest()

    def _repr_html_(self) -> str:
        """The graph as a notebook shows it. Parameters are left out; edges are as wide as tensors are large."""
        shown = [node for node in self.nodes if node.op != "param"]
        inside = homes({node.name: node.origin.module for node in shown})
        items = [labelled(node.name, inside[node.name], node.op) for node in shown]
        read = [(used, node) for node in shown for used in dict.fromkeys(node.inputs) if used.op != "param"]
        links = [Arrow(used.name, node.name, _weight(used.types[0])) for used, node in read]
        return graph_html("operator graph", items, links, {node.name: node.op for node in shown})

    def map(self, new: Mapping[Node, Node]) -> Graph:
        """The graph in which each node of `new` is replaced; users are rebuilt."""
        made: dict[Node, Node] = {}
        for node in self.nodes:
            replaced = new.get(node, node)
            if replaced is node:
                replaced = node.with_inputs(tuple(made[i] for i in node.inputs))
            made[node] = replaced
        return Graph(
            inputs=self.inputs,
            params=self.params,
            outputs=tuple(made[n] for n in self.outputs),
            mutations=tuple((target, made[value]) for target, value in self.mutations),
        )

    def __str__(self) -> str:
        lines = [str(node) for node in self.nodes]
        lines += [f"%{target.name} <- %{value.name}" for target, value in self.mutations]
        lines.append("return " + ", ".join(f"%{node.name}" for node in self.outputs))
        return "\n".join(lines)


def _weight(type_: Type) -> float:
    """Bytes of a tensor; nothing where a symbol decides."""
    return float(type_.bytes) if isinstance(type_.bytes, int) else 0.0
