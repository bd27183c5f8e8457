"""The planner of level 1: which passes the operator graph gets, in order.

    graph = simplify(graph, journal)

The steps are repeated until none changes anything, so that simplifying twice is simplifying once. With `check` the
verifier runs after each and names the one that broke the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.core.rewrite import LastWord, Recorder
from strop.graph.ir import Graph
from strop.graph.passes.merge import mergeable_groups
from strop.graph.passes.rewrites import DropMutations, GraphPass, Merge, Name, Rewrite, Share
from strop.graph.verify import verify

_ROUNDS = 10

Plan = Callable[[Graph, Recorder | None], Iterable[GraphPass]]


def _merges(graph: Graph, journal: Recorder | None) -> list[GraphPass]:
    return [Merge(tuple(node.name for node in group)) for group in mergeable_groups(graph, journal)]


def _always(one: GraphPass) -> Plan:
    return lambda graph, journal: (one,)


_STEPS: tuple[Plan, ...] = (
    _always(DropMutations()),
    _always(Rewrite("tidy")),
    _always(Share()),
    _always(Rewrite("recognise")),
    _always(Rewrite("parameters")),
    _always(Rewrite("images")),
    _always(Share()),
    _always(Name()),  # a merge names its members
    _merges,
)


def simplify(graph: Graph, journal: Recorder | None = None, *, check: bool = False) -> Graph:
    """The same program in fewer, larger operators; results equal up to rounding."""
    return simplified(graph, journal, check=check)[0]


def transformed(graph: Graph, one: GraphPass, journal: Recorder | None = None, *, check: bool = False) -> Graph:
    """The graph after a pass; verified when asked for."""
    changed = one.changed(graph, journal)
    if check and changed is not graph:
        verify(changed, str(one))
    return changed


def simplified(graph: Graph, journal: Recorder | None = None, *, check: bool = False) -> tuple[Graph, list[Pass]]:
    """The simplified graph and the passes that made it; those that would have changed nothing are left out."""
    told = LastWord(journal)
    passes: list[Pass] = []

    def do(graph: Graph, one: GraphPass) -> Graph:
        changed = transformed(graph, one, told, check=check)
        if changed is not graph:
            passes.append(one)
        return changed

    graph = do(graph, Name())
    for _ in range(_ROUNDS):
        before = graph.key
        for plan in _STEPS:
            for one in plan(graph, told):
                graph = do(graph, one)
        if graph.key == before:
            told.close()
            return do(graph, Name()), passes
    raise Problem("STR201", f"simplify did not come to rest in {_ROUNDS} rounds")
