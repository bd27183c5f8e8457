"""A forward and a backward graph as one, with what is kept between them.

    joint.graph       inputs are primals, then tangents; outputs are results, then gradients
    joint.kept        the values that forward hands to backward; backward computes the others that it needs again
    joint.forward     primals → results and kept values
    joint.backward    primals, kept values and tangents → gradients

An *early* value depends on no tangent: forward can compute it. The parameters and inputs of the step are there in both
halves and are not kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from strop.core.passes import VERIFIERS
from strop.core.problem import Problem
from strop.core.values import cached_property
from strop.graph.ir import Graph, Node
from strop.graph.verify import verify as verify_graph

Half = Literal["forward", "backward"]
#: operators whose values are there, or made of nothing, in either half
LEAVES = frozenset(("input", "param", "constant", "full", "arange"))


@dataclass(frozen=True)
class LinearLoss:
    """A cross-entropy of the rows of a linear layer, whose logits need not exist all at once; or why they have to."""

    rows: int = 0
    width: int = 0
    words: int = 0
    item_bytes: int = 4
    gradients: tuple[str, ...] = ()  # those that backward wants, of x, weight and bias
    why: str = ""

    @property
    def logits_bytes(self) -> int:
        return self.rows * self.words * self.item_bytes

    @property
    def weight_bytes(self) -> int:
        return self.words * self.width * self.item_bytes


@dataclass(frozen=True)
class LossBlocks:
    """How many rows of logits exist at a time, and which half computes the gradients of the linear layer: forward, up
    to the factor that comes from above, or backward, which computes the logits once more."""

    rows: int
    gradients: Half = "forward"


@dataclass(frozen=True)
class JointGraph:
    """One graph of both halves. Names tell which values may be kept, which are random draws, which are never computed
    again, and which inputs forward writes to: backward cannot compute anything from what they held before. `losses` are
    cross-entropies by the names of their logits, `blocks` those of them whose logits are taken in blocks of rows."""

    graph: Graph
    results: int
    tangents: int
    keepable: frozenset[str]
    drawn: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    losses: Mapping[str, LinearLoss] = field(default_factory=dict)
    blocks: Mapping[str, LossBlocks] = field(default_factory=dict)

    @staticmethod
    def of(
        graph: Graph,
        results: int,
        tangents: int,
        keepable: frozenset[str],
        drawn: frozenset[str] = frozenset(),
        written: frozenset[str] = frozenset(),
    ) -> JointGraph:
        """The joint graph that keeps every value which backward reads, as eager mode does."""
        everything = JointGraph(graph, results, tangents, keepable, drawn, written, kept=keepable)
        return replace(everything, kept=frozenset(node.name for node in everything.handed_over))

    def keeping(self, *names: str) -> JointGraph:
        return replace(self, kept=self.kept | {*names})

    def recomputing(self, *names: str) -> JointGraph:
        return replace(self, kept=self.kept - {*names})

    @cached_property
    def named(self) -> Mapping[str, Node]:
        return {node.name: node for node in self.graph.nodes}

    @cached_property
    def late(self) -> frozenset[Node]:
        """What depends on a tangent: only backward can compute it."""
        found = set(self._tangents)
        for node in self.graph.nodes:
            if any(used in found for used in node.inputs):
                found.add(node)
        return frozenset(found)

    @property
    def _tangents(self) -> tuple[Node, ...]:
        return self.graph.inputs[len(self.graph.inputs) - self.tangents :]

    @cached_property
    def wanted(self) -> tuple[Node, ...]:
        """The early values that backward reads first hand, leaves apart, in the graph's order."""
        read = {used for node in self.late for used in node.inputs} | {*self.graph.outputs[self.results :]}
        return tuple(n for n in self.graph.nodes if n in read and n not in self.late and n.op not in LEAVES)

    @cached_property
    def reach(self) -> frozenset[Node]:
        """What backward reads of forward's values, and what those are computed from, leaves apart."""
        found: set[Node] = set()
        stack = list(self.wanted)
        while stack:
            node = stack.pop()
            if node not in found and node.op not in LEAVES:
                found.add(node)
                stack += node.inputs
        return frozenset(found)

    @cached_property
    def _needed(self) -> tuple[frozenset[Node], frozenset[Node]]:
        """What backward takes from forward, and what it computes again."""
        kept: set[Node] = set()
        again: set[Node] = set()
        stack = list(self.wanted)
        while stack:
            node = stack.pop()
            if node in kept or node in again or node.op in LEAVES:
                continue
            if node.name in self.kept:
                kept.add(node)
            else:
                again.add(node)
                stack += node.inputs
        return frozenset(kept), frozenset(again)

    @property
    def handed_over(self) -> tuple[Node, ...]:
        """The kept values that backward needs, in the graph's order."""
        return tuple(node for node in self.graph.nodes if node in self._needed[0])

    @property
    def computed_again(self) -> tuple[Node, ...]:
        return tuple(node for node in self.graph.nodes if node in self._needed[1])

    def once_only(self, node: Node) -> str:
        """Why a value cannot be computed again; empty where it can."""
        if node.name in self.drawn:
            return "random numbers are drawn once"
        written = next((used.name for used in node.inputs if used.name in self.written), "")
        return f"forward writes to `{written}`, which it is computed from" if written else ""

    @property
    def kept_bytes(self) -> int:
        """The memory that is held between forward and backward."""
        return sum(node.type.bytes for node in self.handed_over)

    @property
    def forward(self) -> Graph:
        primals = self.graph.inputs[: len(self.graph.inputs) - self.tangents]
        outputs = (*self.graph.outputs[: self.results], *self.handed_over)
        return Graph(primals, self.graph.params, outputs, self.graph.mutations)

    @property
    def backward(self) -> Graph:
        """Its inputs are the primals, the values that were kept and the tangents."""
        primals = self.graph.inputs[: len(self.graph.inputs) - self.tangents]
        kept = self.handed_over
        given = [*primals, *kept, *self._tangents]
        new = {
            node: Node("input", (), {"index": i}, node.types, node.name, node.origin) for i, node in enumerate(given)
        }
        made: dict[Node, Node] = {}
        for node in self.graph.nodes:
            made[node] = new.get(node) or node.with_inputs(tuple(made[i] for i in node.inputs))
        gradients = tuple(made[node] for node in self.graph.outputs[self.results :])
        return Graph(tuple(new[node] for node in given), self.graph.params, gradients)

    def __str__(self) -> str:
        kept = [f"keep %{node.name}: {node.type}    # {node.type.bytes} bytes" for node in self.handed_over]
        again = [f"recompute %{node.name}" for node in self.computed_again]
        return "\n".join(["forward:", str(self.forward), *kept, *again, "backward:", str(self.backward)])


def verify(joint: JointGraph, step: str = "") -> None:
    """Raise a Problem that names the value and the step, if the halves do not fit together."""
    verify_graph(joint.graph, step)
    after = f" after `{step}`" if step else ""
    for name, fault in _faults(joint):
        raise Problem("STR201", f"%{name}{after}: {fault}", help="keep another value: `keep{value=…}`")


def _faults(joint: JointGraph) -> Iterator[tuple[str, str]]:
    for name in sorted(joint.kept):
        if name not in joint.named:
            yield name, "is kept, but there is no such value"
        elif joint.named[name] in joint.late:
            yield name, "is kept for backward, but depends on a tangent"
        elif name not in joint.keepable:
            yield name, "is kept, but cannot be"
    for node in joint.computed_again:
        if why := joint.once_only(node):
            yield node.name, f"is computed again, but {why}"
    for node in joint.graph.outputs[: joint.results]:
        if node in joint.late:
            yield node.name, "is a result of forward, but depends on a tangent"


VERIFIERS[JointGraph] = verify
