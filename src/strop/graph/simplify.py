"""Level 1 on one screen: every step that changes the operator graph, in order.

    graph = simplify(graph, journal)

The steps are repeated until none changes anything, so that simplifying twice is simplifying once. Under
`STROP_CHECK=1` the verifier runs after each and names the step that broke the graph.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from strop.core.problem import Problem
from strop.core.rewrite import LastWord, Recorder, Rules, rewrite
from strop.graph.ir import Graph, Node
from strop.graph.rules import algebra, filters, fold, parameters, recognise, resample, transposed, views
from strop.graph.rules.cse import drop_idle_mutations, share
from strop.graph.rules.language import P
from strop.graph.rules.merge import merge_linears
from strop.graph.verify import verify

tidy = algebra.rules + views.rules + fold.rules

Step = Callable[[Graph, Recorder | None], Graph]

_ROUNDS = 10


def simplify(graph: Graph, journal: Recorder | None = None) -> Graph:
    """The same program in fewer, larger operators; results equal up to rounding."""
    journal = LastWord(journal)
    graph = step("name", name, graph, journal)
    for _ in range(_ROUNDS):
        before = graph.key
        graph = step("drop idle mutations", drop_idle_mutations, graph, journal)
        graph = step("tidy", _apply(tidy), graph, journal)
        graph = step("share", share, graph, journal)
        graph = step("recognise", _apply(tidy + recognise.rules), graph, journal)
        graph = step("fold into parameters", _apply(tidy + recognise.rules + parameters.rules), graph, journal)
        graph = step("filters and images", _apply(transposed.rules + filters.rules + resample.rules), graph, journal)
        graph = step("share", share, graph, journal)
        graph = step("merge linears", merge_linears, graph, journal)
        if graph.key == before:
            journal.close()
            return step("name", name, graph, journal)
    raise Problem("STR201", f"simplify did not come to rest in {_ROUNDS} rounds")


def step(title: str, change: Step, graph: Graph, journal: Recorder | None) -> Graph:
    """One named step; verified when asked for."""
    result = change(graph, journal)
    if os.environ.get("STROP_CHECK") == "1":
        verify(result, title)
    return result


def apply_rules(graph: Graph, rules: Rules, journal: Recorder | None = None) -> Graph:
    """The graph after the rules came to rest."""
    roots = rewrite(graph.roots, rules, P, journal)
    if all(new is old for new, old in zip(roots, graph.roots)):
        return graph
    count = len(graph.outputs)
    mutations = tuple((target, value) for (target, _), value in zip(graph.mutations, roots[count:]))
    return Graph(graph.inputs, graph.params, roots[:count], mutations)


def _apply(rules: Rules) -> Step:
    return lambda graph, journal: apply_rules(graph, rules, journal)


def name(graph: Graph, journal: Recorder | None = None) -> Graph:
    """Unique names that survive recompilation: the module path and the operator, numbered where that is not enough."""
    taken: dict[str, int] = {}
    made: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.op in ("input", "param"):
            made[node] = node
            taken[node.name] = 1
    for node in graph.nodes:
        if node in made:
            continue
        label = f"{node.origin.module}.{node.op}" if node.origin.module else node.op
        unique = _unique(label, taken)
        rebuilt = node.with_inputs(tuple(made[i] for i in node.inputs))
        made[node] = rebuilt if rebuilt.name == unique else replace(rebuilt, name=unique)
    mutations = tuple((target, made[value]) for target, value in graph.mutations)
    return Graph(graph.inputs, graph.params, tuple(made[n] for n in graph.outputs), mutations)


def _unique(label: str, taken: dict[str, int]) -> str:
    count = taken.get(label, 0) + 1
    taken[label] = count
    if count == 1:
        return label
    numbered = f"{label}_{count}"
    return numbered if numbered not in taken else _unique(label, taken)
