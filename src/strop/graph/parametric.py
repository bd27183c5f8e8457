"""Which values depend on parameters and constants only, so that they are computed before any call."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from strop.graph.ir import Graph, Node

#: operators whose result is not a function of inputs and attributes alone
IMPURE = frozenset(("aten",))


_PARAMETRIC: WeakKeyDictionary[Node, bool] = WeakKeyDictionary()


def is_parametric(node: Node) -> bool:
    """Whether a value depends on parameters and constants only, so that it can be computed before any call."""
    stack = [node]
    while stack:
        top = stack[-1]
        if top in _PARAMETRIC:
            stack.pop()
            continue
        if top.op == "input" or top.op in IMPURE:
            _PARAMETRIC[stack.pop()] = False
            continue
        unknown = [i for i in top.inputs if i not in _PARAMETRIC]
        if unknown:
            stack.extend(unknown)
            continue
        _PARAMETRIC[stack.pop()] = all(_PARAMETRIC[i] for i in top.inputs)
    return _PARAMETRIC[node]


def depends_only_on_params(graph: Graph) -> frozenset[Node]:
    """The nodes that a parameter program can compute ahead of calls; not those that the graph itself writes."""
    written = {target for target, _ in graph.mutations}
    known: set[Node] = set()
    for node in graph.nodes:
        if node.op == "input" or node.op in IMPURE or node in written:
            continue
        if all(i in known for i in node.inputs):
            known.add(node)
    return frozenset(known)
