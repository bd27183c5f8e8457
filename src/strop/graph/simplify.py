"""Level 1 on one screen: every step that changes the operator graph, in order.

    graph = simplify(graph, journal)

The steps are repeated until none changes anything, so that simplifying twice is simplifying once. With `check` the
verifier runs after each and names the step that broke the graph.
"""

from __future__ import annotations

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


def simplify(graph: Graph, journal: Recorder | None = None, *, check: bool = False) -> Graph:
    """The same program in fewer, larger operators; results equal up to rounding."""
    journal = LastWord(journal)
    graph = step("name", name, graph, journal, check)
    for _ in range(_ROUNDS):
        before = graph.key
        for title, change in _STEPS:
            graph = step(title, change, graph, journal, check)
        if graph.key == before:
            journal.close()
            return step("name", name, graph, journal, check)
    raise Problem("STR201", f"simplify did not come to rest in {_ROUNDS} rounds")


def step(title: str, change: Step, graph: Graph, journal: Recorder | None, check: bool) -> Graph:
    """One named step; verified when asked for."""
    result = change(graph, journal)
    if check:
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


_STEPS: tuple[tuple[str, Step], ...] = (
    ("drop idle mutations", drop_idle_mutations),
    ("tidy", _apply(tidy)),
    ("share", share),
    ("recognise", _apply(tidy + recognise.rules)),
    ("fold into parameters", _apply(tidy + recognise.rules + parameters.rules)),
    ("filters and images", _apply(transposed.rules + filters.rules + resample.rules)),
    ("share", share),
    ("merge linears", merge_linears),
)


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
