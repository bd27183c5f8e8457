"""The verifier: a graph must say the same about every node as the operator set does.

verify(graph, step="fold constants")    raises STR201 at the first node that the step broke
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strop.core.extents import Symbol, UnknownExtent, ambiguity, symbols
from strop.core.passes import VERIFIERS
from strop.core.problem import Problem
from strop.graph.infer import MismatchError, infer
from strop.graph.ir import Graph, Node
from strop.graph.operators import is_operator


def verify(graph: Graph, step: str = "") -> None:
    """Raise a Problem that names the node and the step, if anything about the graph is inconsistent."""
    for node in graph.nodes:
        try:
            for fault in node_faults(node):
                raise _problem(node, fault, step)
        except UnknownExtent as undecided:
            raise undecided.within(f"%{node.name}", node.origin) from None
    for node, fault in _signature_faults(graph):
        raise _problem(node, fault, step)


def node_faults(node: Node) -> Iterator[str]:
    """What a node says that the operator set does not."""
    if not is_operator(node.op):
        yield f"there is no operator `{node.op}`"
        return
    for key, value in node.attrs.items():
        if not _is_plain(value):
            yield f"attribute {key} is a {type(value).__name__}; attributes are numbers, strings, tuples and None"
    try:
        expected = infer(node.op, node.inputs, node.attrs, node.types)
    except (MismatchError, TypeError) as mismatch:
        yield str(mismatch)
        return
    if expected != node.types:
        yield f"has the type {_told(node.types)}, its inputs make {_told(expected)}"


def _signature_faults(graph: Graph) -> Iterator[tuple[Node, str]]:
    known: dict[str, Symbol] = {}
    for node in graph.nodes:
        if fault := ambiguity(symbols(extent for type_ in node.types for extent in type_.shape), known):
            yield node, fault
    declared = {*graph.inputs, *graph.params}
    for node in graph.nodes:
        if node.op in ("input", "param") and node not in declared:
            yield node, f"an `{node.op}` that the graph does not declare"
    for node in graph.inputs:
        if node.op != "input":
            yield node, f"an input of the graph, but its operator is `{node.op}`"
    for node in graph.params:
        if node.op != "param":
            yield node, f"a param of the graph, but its operator is `{node.op}`"
    for target, value in graph.mutations:
        if target not in declared:
            yield target, "a mutation's target must be an input or a param"
        elif target.types != value.types:
            yield target, f"is {_told(target.types)}, the value written to it {_told(value.types)}"


def _problem(node: Node, fault: str, step: str) -> Problem:
    after = f" after `{step}`" if step else ""
    return Problem("STR201", f"%{node.name}{after}: {fault}", where=node.origin, help=f"the node: {node}")


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | complex | str)


def _told(types: tuple[Any, ...]) -> str:
    return ", ".join(map(str, types)) or "nothing"


VERIFIERS[Graph] = verify
