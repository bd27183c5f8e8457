"""Horizontal merging: linears that read the same value (query, key, value) become one with their weights stacked.

    q, k, v = linear(x, wq), linear(x, wk), linear(x, wv)
    →   y = linear(x, cat(wq, wk, wv));  q, k, v = y[…, :a], y[…, a:b], y[…, b:]

The input is read once, and one large product keeps the machine busier than three small ones. The slices are views.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from strop.core.passes import Verdict, no, yes
from strop.core.rewrite import Recorder
from strop.graph import build
from strop.graph.ir import Graph, Node
from strop.graph.operators import POINTWISE
from strop.graph.parametric import is_parametric
from strop.graph.passes.language import adopt

NAME = "merge linears that share their input"


def mergeable_groups(graph: Graph, journal: Recorder | None = None) -> Iterator[list[Node]]:
    """Linears that share an input and may be merged, two or more together."""
    groups: dict[tuple[Node, int], list[Node]] = {}
    for node in graph.nodes:
        if node.op == "linear":
            groups.setdefault((node.inputs[0], len(node.inputs)), []).append(node)
    for members in groups.values():
        mergeable = _mergeable(graph, members, journal)
        if len(mergeable) >= 2:
            yield mergeable


def with_merged(graph: Graph, members: Sequence[Node], journal: Recorder | None = None) -> Graph:
    """The graph with a group of linears replaced by slices of one."""
    if journal is not None:
        others = ", ".join(f"%{node.name}" for node in members[1:])
        journal.add("rewrite", members[0].name, f"{NAME}: with {others}", rule=NAME, op="linear")
    return _replaced(graph, dict(zip(members, _merged(members))))


def _mergeable(graph: Graph, members: Sequence[Node], journal: Recorder | None) -> list[Node]:
    if len(members) < 2:
        return []
    allowed = []
    for node in members:
        verdict = may_merge(graph, node)
        if verdict:
            allowed.append(node)
        elif journal is not None:
            journal.add("refusal", node.name, f"{NAME}: {verdict.why}", rule=NAME)
    return allowed


def may_merge(graph: Graph, node: Node) -> Verdict:
    """Whether a linear may be computed as a slice of a larger one."""
    for weight in node.inputs[1:]:
        if not is_parametric(weight):
            return no(f"%{weight.name} depends on an input, so it cannot be stacked ahead")
    if any(node is root for root in graph.roots):
        return no("its result is returned, which a slice of a larger one cannot be without a copy")
    for user in graph.users[node]:
        if user.op in POINTWISE:
            return no(f"%{user.name} (`{user.op}`) runs cheaper in its epilogue")
    return yes()


def _merged(members: Sequence[Node]) -> list[Node]:
    first = members[0]
    weights = [build.cat([node.inputs[i] for node in members], 0) for i in range(1, len(first.inputs))]
    merged = build.make("linear", (first.inputs[0], *(adopt(w, first) for w in weights)), like=first)
    lines = dict.fromkeys(line for node in members for line in node.origins if line != first.origin)
    merged = replace(merged, absorbed=tuple(lines))
    dim, start, slices = len(first.shape) - 1, 0, []
    for node in members:
        stop = start + node.shape[-1]
        slices.append(adopt(build.slice(merged, dim, start, stop), node))
        start = stop
    return slices


def _replaced(graph: Graph, made: dict[Node, Node]) -> Graph:
    """`Graph.map` rebuilds users only; the merged linear's own input may change too, so slices are rebuilt here."""
    new: dict[Node, Node] = {}
    linears: dict[Node, Node] = {}
    for node in graph.nodes:
        inputs = tuple(new[i] for i in node.inputs)
        if node not in made:
            new[node] = node.with_inputs(inputs)
            continue
        (merged,) = made[node].inputs
        if merged not in linears:
            linears[merged] = merged.with_inputs((inputs[0], *merged.inputs[1:]))
        new[node] = made[node].with_inputs((linears[merged],))
    return graph.with_roots([new[root] for root in graph.roots])
