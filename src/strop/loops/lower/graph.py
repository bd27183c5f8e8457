"""From the operator graph to nests and library calls, in program order.

    lowered = lower(graph)
    lowered.nests      what to do: Nest | LibraryCall
    lowered.inputs, .params, .outputs      the buffers that the caller provides, in the graph's order

Every node ends up as one of four things: a buffer that the caller owns or that a step fills; an index map over
another value (a view: nothing moves); an expression that readers repeat (`full`, `arange`, one-element constants); or
a part of a node with several results. Only where a buffer is unavoidable (a graph output, the argument of a library
call) is a value of the second and third kind copied into one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from strop.core.dtypes import STORED
from strop.core.extents import UnknownExtent
from strop.graph.ir import Graph, Node, Type
from strop.loops.index import Index, Var, index_of
from strop.loops.ir import Buffer, Expr, Load, Loop, Nest, Store, shared
from strop.loops.lower import LOWERINGS, VIEW_MAPS, Context, Lowering, Read, can_lower, load_families, store
from strop.loops.lower.concat_pad import literal
from strop.loops.lowered import LibraryCall, Lowered, Step

#: operators without inputs that are cheaper to compute again than to store
SOURCES = ("full", "arange")


def lower(
    graph: Graph,
    algorithms: Mapping[Node, Lowering] | None = None,
    library: Mapping[Node, str] | None = None,
    known: Lowerings | None = None,
) -> Lowered:
    """The whole graph, node by node; every value that a later step reads is computed before it.

    A node in `algorithms` is lowered that way instead of by the one that its operator registers. One in `library` runs
    outside of generated code, for the reason that is given; unless told, those do that have no lowering. Nests of nodes
    that are `known` are not made again, and new ones are added to them.
    """
    load_families()
    work = _Lowering(graph, algorithms or {}, library_nodes(graph) if library is None else library, known)
    for node in graph.nodes:
        work.visit(node)
    outputs = tuple(work.deliver(root) for root in graph.roots)
    return Lowered(
        nests=tuple(_with_unique_names(work.steps)),
        inputs=tuple(work.buffers[node] for node in graph.inputs),
        params=tuple(work.buffers[node] for node in graph.params),
        outputs=outputs,
        buffers=work.buffers,
        constants=work.constants,
        channels_last=frozenset(work.channels_last),
        handed=frozenset(work.handed),
    )


#: nests and constants of nodes, by what they depend on
Lowerings = dict[tuple[object, ...], tuple[tuple[Nest, ...], dict[Buffer, tuple[Any, ...]]]]


class _Lowering:
    """What is known while the graph is walked."""

    def __init__(
        self,
        graph: Graph,
        algorithms: Mapping[Node, Lowering],
        library: Mapping[Node, str],
        known: Lowerings | None = None,
    ) -> None:
        self.algorithms, self.library = algorithms, library
        self.known: Lowerings = known if known is not None else {}
        self.steps: list[Step] = []
        self.buffers: dict[Node, Buffer] = {}
        self.constants: dict[Buffer, tuple[Any, ...]] = {}
        self._results: dict[Node, tuple[Buffer, ...]] = {}
        self._reads: dict[Node, Read] = {}
        self._names: set[str] = set()
        self._wanted = {_result(root) for root in graph.roots}
        self._images = self._returned_images(graph)
        self.channels_last: set[str] = set()
        self.handed: set[str] = set()
        self._delivered: set[Buffer] = set()

    def _returned_images(self, graph: Graph) -> dict[Node, Node]:
        """Outputs that are images channels last → the values that are computed in that order straight away. Not those
        that windows of this graph reach over the edges of: they want zeros there, and the caller gets a copy."""
        found: dict[Node, Node] = {}
        for root in graph.roots:
            value = root.inputs[0] if root.op == "permute" and root.attrs.get("image") else None
            if value is None or value.dtype not in STORED or _result(value) in self._wanted:
                continue
            maker = _result(value)[0]
            computed = maker.op not in ("input", "param", "constant", *VIEW_MAPS, *SOURCES)
            users = graph.users[value]
            if computed and self.library.keys().isdisjoint((maker, *users)) and not any(map(_reaches_out, users)):
                found[root] = value
                self._wanted.add(_result(value))
        return found

    # ---- one node ----------------------------------------------------------------------------------------------------

    def visit(self, node: Node) -> None:
        if node.op in ("input", "param"):
            self._own(node, self._buffer(node.name, node.type, node.op))
        elif node.op == "constant":
            self._constant(node)
        elif node.op == "item":
            self._own(node, self._results[node.inputs[0]][node.attrs["index"]])
        elif node.op in VIEW_MAPS and node.dtype in STORED and node not in self.library:
            self._reads[node] = self._viewed(node)
            if node.attrs.get("image") and node.inputs[0].op == "input":
                self.channels_last.add(self.buffers[node.inputs[0]].name)
        elif node.op in SOURCES and node.dtype in STORED and node not in self.library:
            self._reads[node] = _repeated(node)
        else:
            self._compute(node)

    def _constant(self, node: Node) -> None:
        values = tuple(_flat(node.attrs["values"]))
        if len(values) == 1 and node.dtype in STORED:
            value = literal(values[0], node.dtype)
            self._reads[node] = lambda *index: value
            return
        buffer = self._buffer(node.name, node.type, "const")
        self.constants[buffer] = values
        self._own(node, buffer)

    def _viewed(self, node: Node) -> Read:
        inner, index_map = self._reads[node.inputs[0]], VIEW_MAPS[node.op]

        def read(*index: Index) -> Expr:
            return inner(*index_map(node, index))

        return read

    def _compute(self, node: Node) -> None:
        """Buffers for the results, and the step that fills them; no step for results without elements."""
        results = self._make_results(node)
        if _is_empty(node):
            return
        if node in self.library:
            inputs = tuple(map(self.materialise, node.inputs))
            self.steps.append(LibraryCall(node, inputs, results, self.library[node]))
            return
        named = node if results[0].name == node.name else replace(node, name=_stem(results[0], node))
        reads = [self._read_by(node, used) for used in node.inputs]
        algorithm = self.algorithms.get(node, LOWERINGS[node.op])
        key = (node, algorithm, results, tuple(map(self._read_of, node.inputs)))
        if key not in self.known:
            context = Context(named, reads, results)
            with _named(node):
                nests = tuple(shared(_computing(nest, node)) for nest in algorithm(context))
            self.known[key] = nests, context.constants
        nests, constants = self.known[key]
        self.steps += nests
        self.constants.update(constants)

    def _read_by(self, node: Node, used: Node) -> Read:
        """How a node reads a value: a copy of it where a grouped convolution would have no even steps through a view,
        as of shuffled channels."""
        if used in self.buffers or not _in_groups(node, used) or _is_even(self._reads[used], used):
            return self._reads[used]
        return partial(_loaded, self.materialise(used))

    def _read_of(self, node: Node) -> object:
        """What reading a value depends on: a buffer, or the value that a view shows."""
        if node.op in VIEW_MAPS and node.dtype in STORED and node not in self.library:
            return self._read_of(node.inputs[0])
        return self.buffers.get(node)

    def _make_results(self, node: Node) -> tuple[Buffer, ...]:
        """One buffer per result; one that the graph returns is written straight into the caller's memory."""
        several = len(node.types) > 1
        made = []
        for k, type_ in enumerate(node.types):
            space = "output" if (node, k) in self._wanted else "arena"
            made.append(self._buffer(f"{node.name}.{k}" if several else node.name, type_, space))
        results = self._results[node] = tuple(made)
        if not several:
            self._own(node, results[0])
        return results

    # ---- buffers -----------------------------------------------------------------------------------------------------

    def _own(self, node: Node, buffer: Buffer) -> None:
        self.buffers[node] = buffer
        self._reads[node] = lambda *index: Load(buffer, index)

    def _buffer(self, name: str, type_: Type, space: str) -> Buffer:
        """A buffer of a name that no other has."""
        unique, count = name, 1
        while unique in self._names:
            count += 1
            unique = f"{name}.{count}"
        self._names.add(unique)
        return Buffer(unique, type_.dtype, type_.shape, space)

    def materialise(self, node: Node) -> Buffer:
        """The buffer that holds a value, for those who cannot read through an index map."""
        if node not in self.buffers:
            self.buffers[node] = self._copied(node, node.name, "arena")
        return self.buffers[node]

    def deliver(self, root: Node) -> Buffer:
        """The buffer in which the caller finds an output: the value's own, if it was made for that, else a copy."""
        if root in self._images:
            made = self.buffers[self._images[root]]
            self.channels_last.add(made.name)
            self.handed.add(made.name)
            self._delivered.add(made)
            return made
        buffer = self.buffers.get(root)
        if buffer is None or buffer.space != "output" or buffer in self._delivered:
            buffer = self._copied(root, f"{root.name}.out", "output")
            if root.op == "permute" and root.attrs.get("image"):
                self.channels_last.add(buffer.name)
        self._delivered.add(buffer)
        return buffer

    def _copied(self, node: Node, name: str, space: str) -> Buffer:
        target = self._buffer(name, node.type, space)
        if target.size == 0:
            return target
        if node.dtype in STORED:
            with _named(node):
                self.steps.append(_computing(_copy(node, self._reads[node], target), node))
            return target
        same = Node("reshape", (node,), {}, node.types, target.name, node.origin)
        self.steps.append(LibraryCall(same, (self.buffers[node],), (target,), _why_library(same)))
        return target


def _computing(nest: Nest, node: Node) -> Nest:
    """The nest with statements that say which node they compute."""
    return nest.map_stores(lambda statement: replace(statement, nodes=(node.name,)))


@contextmanager
def _named(node: Node) -> Iterator[None]:
    """Questions that its symbolic extents leave open are asked about this node."""
    try:
        yield
    except UnknownExtent as undecided:
        raise undecided.within(f"%{node.name}: the lowering of `{node.op}`", node.origin) from None


def _loaded(buffer: Buffer, *index: Index) -> Expr:
    return Load(buffer, index)


def _in_groups(node: Node, used: Node) -> bool:
    """Whether a node reads some image group of channels by group of channels."""
    if node.op not in ("conv", "conv_weight_grad") or used not in node.inputs[: 1 if node.op == "conv" else 2]:
        return False
    return bool(1 < node.attrs["groups"] < node.inputs[0].shape[1])


def _is_even(read: Read, node: Node) -> bool:
    """Whether a step from channel to channel is the same everywhere."""
    channel = Var("channel", node.shape[1])
    others = [index_of(Var(f"d{i}", extent)) for i, extent in enumerate(node.shape)]
    found = read(others[0], index_of(channel), *others[2:])
    return not isinstance(found, Load) or found.offset.coefficient(channel) is not None


def _reaches_out(node: Node) -> bool:
    """Whether its windows may reach over the edge of the image that they move over."""
    return node.op == "conv" and any(extent != 1 for extent in node.inputs[1].shape[2:])


def _result(node: Node) -> tuple[Node, int]:
    """The node that computes a value, and which of its results the value is."""
    return (node.inputs[0], node.attrs["index"]) if node.op == "item" else (node, 0)


def _is_empty(node: Node) -> bool:
    """Whether a node has results without elements only, so that there is nothing to compute."""
    return node.op != "aten" and all(type_.size == 0 for type_ in node.types)


def library_nodes(graph: Graph) -> dict[Node, str]:
    """The nodes that have no lowering, and why; in the order of the graph."""
    load_families()
    found = {}
    for node in graph.nodes:
        if node.op in ("input", "param", "constant", "item") or _is_empty(node):
            continue
        if node.op in (*VIEW_MAPS, *SOURCES) and node.dtype in STORED:
            continue
        if why := _why_library(node):
            found[node] = why
    return found


def _why_library(node: Node) -> str:
    """Why a node cannot become a nest; empty when it can."""
    if node.op == "aten":
        return str(node.attrs.get("why", "it is not in the operator set"))
    if node.op in VIEW_MAPS:
        return f"generated code does not compute with {node.dtype}"
    return can_lower(node).why


def _repeated(node: Node) -> Read:
    """The expression that a source's own nest would store, at any index."""
    dummy = Buffer(node.name, node.dtype, node.shape)
    (nest,) = LOWERINGS[node.op](Context(node, (), (dummy,)))
    (statement,) = nest.body
    assert isinstance(statement, Store)
    value = statement.value

    def read(*index: Index) -> Expr:
        return value.substitute(dict(zip(nest.vars, index)))

    return read


def _copy(node: Node, read: Read, target: Buffer) -> Nest:
    loops = tuple(Loop(Var(f"i{d}", extent)) for d, extent in enumerate(target.shape))
    value = read(*(index_of(loop.var) for loop in loops))
    return Nest(loops, (store(target, loops, value),), name=target.name, origin=node.origin, note="copy")


def _stem(buffer: Buffer, node: Node) -> str:
    """The node's name with the suffix that made its buffer's name unique, for nests and temporaries."""
    return buffer.name.removesuffix(".0") if len(node.types) > 1 else buffer.name


def _flat(values: Any) -> Iterator[Any]:
    if not isinstance(values, (tuple, list)):
        yield values
        return
    for value in values:
        yield from _flat(value)


def _with_unique_names(steps: list[Step]) -> Iterator[Step]:
    """Nests are addressed by name: a second one of the same name gets a number."""
    seen: dict[str, int] = {}
    for step in steps:
        seen[step.name] = count = seen.get(step.name, 0) + 1
        if count > 1 and isinstance(step, Nest):
            yield replace(step, name=f"{step.name}.{count}")
        else:
            yield step
