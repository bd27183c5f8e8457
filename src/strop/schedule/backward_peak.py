"""How many bytes are alive at most while backward runs, as far as operators tell: before nests are made.

What was kept lives until its last reader; gradients of parameters, which are the caller's, to the end. A pointwise
operator has memory only where a product, a reduction or the library reads it, as in the costs of keeping values. So
values that are computed again early and read late count: a chain of them may take as much as keeping them.
"""

from __future__ import annotations

from strop.core.topological import topological
from strop.cost.operators import is_fused
from strop.graph.ir import Node
from strop.graph.joint import LEAVES, JointGraph
from strop.graph.operators import VIEWS

_ALIASES = frozenset(("item", *VIEWS))


def backward_peak(joint: JointGraph) -> int:
    graph = joint.backward
    order = list(topological(graph.outputs[::-1]))  # the last gradients are computed first
    place = {node: i for i, node in enumerate(order)}
    kept = {node.name for node in joint.handed_over}
    readers: dict[Node, list[Node]] = {node: [] for node in order}
    for node in order:
        for used in node.inputs:
            readers[used].append(node)
    end = len(order)
    outputs = set(graph.outputs)
    stored: dict[Node, bool] = {}  # whether it, or what is a view of it, is read from memory
    needed: dict[Node, int] = {}  # the place at which its inputs are last read for it
    made, freed = [0] * (end + 1), [0] * (end + 1)
    for node in reversed(order):
        stored[node] = node in outputs or any(
            stored[reader] if reader.op in _ALIASES else not is_fused(reader) for reader in readers[node]
        )
        last = end if node in outputs else max((needed[reader] for reader in readers[node]), default=place[node])
        has_memory = node.op not in _ALIASES and (stored[node] or not is_fused(node))
        needed[node] = place[node] if has_memory else last
        if node.name in kept or (has_memory and node.op not in LEAVES):
            size = sum(one.bytes for one in node.types)
            made[0 if node.name in kept else place[node]] += size
            freed[last] += size
    peak = alive = 0
    for i in range(end + 1):
        alive += made[i]
        peak = max(peak, alive)
        alive -= freed[i]
    return peak
