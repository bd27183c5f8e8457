"""Horizontal merging: linears that read the same value (query, key, value) become one with their weights stacked.

    q, k, v = linear(x, wq), linear(x, wk), linear(x, wv)
    →   y = linear(x, cat(wq, wk, wv));  q, k, v = y[…, :a], y[…, a:b], y[…, b:]

The input is read once, and one large product keeps the machine busier than three small ones. The slices are views.
"""

from __future__ import annotations

from collections.abc import Sequence

from strop.core.passes import Verdict, no, yes
from strop.core.rewrite import Recorder
from strop.graph import build
from strop.graph.ir import Graph, Node
from strop.graph.operators import POINTWISE
from strop.graph.rules.language import adopt, is_parametric

NAME = "merge linears that share their input"


def merge_linears(graph: Graph, journal: Recorder | None = None) -> Graph:
    """The graph with every group of mergeable linears replaced by slices of one."""
    groups: dict[tuple[Node, int], list[Node]] = {}
    for node in graph.nodes:
        if node.op == "linear":
            groups.setdefault((node.inputs[0], len(node.inputs)), []).append(node)
    made: dict[Node, Node] = {}
    for members in groups.values():
        mergeable = _mergeable(graph, members, journal)
        if len(mergeable) < 2:
            continue
        made.update(zip(mergeable, _merged(mergeable)))
        if journal is not None:
            others = ", ".join(f"%{node.name}" for node in mergeable[1:])
            journal.add("rewrite", mergeable[0].name, f"{NAME}: with {others}", rule=NAME, op="linear")
    return _with_merged(graph, made) if made else graph


def _mergeable(graph: Graph, members: Sequence[Node], journal: Recorder | None) -> list[Node]:
    if len(members) < 2:
        return []
    allowed = []
    for node in members:
        verdict = _may_merge(graph, node)
        if verdict:
            allowed.append(node)
        elif journal is not None:
            journal.add("refusal", node.name, f"{NAME}: {verdict.why}", rule=NAME)
    return allowed


def _may_merge(graph: Graph, node: Node) -> Verdict:
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
    dim, start, slices = len(first.shape) - 1, 0, []
    for node in members:
        stop = start + node.shape[-1]
        slices.append(adopt(build.slice(merged, dim, start, stop), node))
        start = stop
    return slices


def _with_merged(graph: Graph, made: dict[Node, Node]) -> Graph:
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
    mutations = tuple((target, new[value]) for target, value in graph.mutations)
    return Graph(graph.inputs, graph.params, tuple(new[n] for n in graph.outputs), mutations)
