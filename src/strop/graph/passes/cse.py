"""Common subexpressions and dead code: equal computations become one node, unneeded ones none.

Dead nodes need no sweep: a graph consists of what its outputs and mutations reach. Inputs and params always stay in
the signature.
"""

from __future__ import annotations

from strop.core.rewrite import Recorder
from strop.graph.ir import Graph, Node
from strop.graph.parametric import IMPURE

Key = tuple[object, ...]


def without_duplicates(graph: Graph, journal: Recorder | None = None) -> Graph:
    """The graph in which each computation happens once. `repr` tells 1 from 1.0 and True, and 0.0 from -0.0."""
    first: dict[Key, Node] = {}
    made: dict[Node, Node] = {}
    for node in graph.nodes:
        rebuilt = node.with_inputs(tuple(made[i] for i in node.inputs))
        if node.op in IMPURE or node.op in ("input", "param"):
            made[node] = rebuilt
            continue
        key = (node.op, tuple(map(id, rebuilt.inputs)), repr(sorted(node.attrs.items())), node.types)
        made[node] = first.setdefault(key, rebuilt)
        if made[node] is not rebuilt and journal is not None and node.op not in ("full", "constant", "arange"):
            journal.add("rewrite", node.name, f"the same as %{made[node].name}", op=node.op)
    return graph.with_roots([made[root] for root in graph.roots])


def without_idle_mutations(graph: Graph) -> Graph:
    """Without the mutations that write a value back to itself."""
    busy = tuple((target, value) for target, value in graph.mutations if value is not target)
    return graph if len(busy) == len(graph.mutations) else Graph(graph.inputs, graph.params, graph.outputs, busy)
