"""Kinds of operations as bits: which a graph has, and which a term of a pattern cannot do without."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

from strop.source.adopt.architecture import Graph, Node
from strop.source.adopt.language.rule import Layer
from strop.source.adopt.operations import GROUPS, KINDS
from strop.source.adopt.operations import layer as layer_of


@lru_cache(maxsize=64)
def layer_kinds(layer: Layer) -> frozenset[str]:
    return frozenset(found[0] for name in layer.classes if (found := layer_of(name)) is not None)


class Kinds:
    """The operations of a graph by kind, and which kinds each is computed from: a quick look before the search."""

    def __init__(self, graph: Graph) -> None:
        self.nodes: dict[str, list[Node]] = defaultdict(list)
        self.all = 0
        self._below: list[int] = []
        for node in graph.nodes:
            self.nodes[node.kind].append(node)
            found = _BITS.get(node.kind, 0)
            self.all |= found
            for one in node.inputs:  # what a loop computes later may be anything
                found |= self._below[one.number] if one.number < node.number else -1
            self._below.append(found)

    def below(self, node: Node) -> int:
        """The kinds of a node and of what it is computed from, as bits."""
        return self._below[node.number]


def _with_groups() -> dict[str, int]:
    """Of each kind its bit and those of its groups."""
    found = dict(BIT)
    for name, members in GROUPS.items():
        for kind in members:
            found[kind] |= BIT[name]
    return found


def common_bit(kinds: frozenset[str]) -> int:
    """The bit of one kind, or of a group that holds all of several."""
    if len(kinds) == 1:
        return BIT[next(iter(kinds))]
    return next((BIT[name] for name, members in GROUPS.items() if kinds <= members), 0)


BIT = {kind: 1 << index for index, kind in enumerate(sorted(KINDS.union(*GROUPS.values())))}
_BITS = _with_groups()
