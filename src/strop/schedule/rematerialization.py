"""Which values a training step keeps between forward and backward, and which it computes again.

Keeping a value takes reading it from memory in backward, and writing it in forward where fusion would have left it in
registers. Computing it again takes its operators, all of whose inputs have to be there. The cheapest division is a
minimum cut, found exactly:

    demanded(v) ──cost of keeping v──► computed(v) ──cost of computing v──► sink
                                       computed(v) ──∞──► demanded(u)   for each input u of v
    source ──∞──► demanded(v)          for each v that backward reads

A budget of bytes adds a price for each byte that is kept. The least price under which the cut keeps to the budget is
found by bisection; what that leaves of the budget goes to the values that save most for their bytes. Cuts under prices
also bound from below what any division within the budget takes, and the journal tells how far the answer may be off.
"balanced" takes, of the divisions that cost 3% of a step at most, the one with the least memory alive in backward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from strop.core.journal import Journal
from strop.core.min_cut import INFINITE, FlowNetwork
from strop.core.options import Memory
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.core.values import cached_property
from strop.cost.operators import compute_cycles, cycles, is_fused
from strop.graph.ir import Node
from strop.graph.joint import LEAVES, JointGraph, verify
from strop.graph.operators import VIEWS
from strop.graph.passes.partition import Keep, Recompute
from strop.schedule.backward_peak import backward_peak
from strop.target.description import Target

#: how much longer than the fastest a step may take that keeps less ("balanced")
SLOWER = 0.03
_BISECTIONS = 10
#: cycles for a byte above which nothing is kept that need not be
_HIGHEST = 1e6
#: how many values are tried for what is left of a budget
_FILLING = 64


@dataclass(frozen=True)
class Choice:
    """A division: the values that are kept, their bytes, and the cycles that keeping and recomputing take."""

    kept: frozenset[str]
    bytes: int
    cycles: float


class Rematerialization:
    """The costs of dividing one joint graph."""

    def __init__(self, joint: JointGraph, target: Target) -> None:
        self.joint, self.target = joint, target
        held = sum(node.type.bytes for node in joint.handed_over)
        self.bandwidth = target.bandwidth[3] if held > target.l3_ours else target.bandwidth[2]
        self.users = joint.graph.users
        self._readers: dict[Node, tuple[Node, ...]] = {}
        self._keeping: dict[Node, float] = {}
        self._computing: dict[Node, float] = {}

    @cached_property
    def early(self) -> tuple[Node, ...]:
        """What backward might need of forward, in the graph's order."""
        return tuple(node for node in self.joint.graph.nodes if node in self.joint.reach)

    @cached_property
    def step(self) -> float:
        """What the whole step takes that keeps what backward reads first hand."""
        nodes = self.joint.graph.nodes
        return sum(cycles(node, self.target, self.bandwidth) for node in nodes if node.op not in LEAVES)

    def keeping(self, node: Node) -> float:
        if node not in self._keeping:
            self._keeping[node] = self._cycles_to_keep(node)
        return self._keeping[node]

    def computing(self, node: Node) -> float:
        if node not in self._computing:
            self._computing[node] = self._cycles_to_compute(node)
        return self._computing[node]

    def _cycles_to_keep(self, node: Node) -> float:
        """Cycles to keep a value: backward reads it, and forward writes it unless it does so anyway."""
        if node.name not in self.joint.keepable:
            return INFINITE
        readers = [reader for reader in self.readers(node) if reader not in self.joint.late]
        written = not is_fused(node) or node in self.joint.graph.outputs or not all(map(is_fused, readers))
        return (1 if written else 2) * node.type.bytes / self.bandwidth

    def _cycles_to_compute(self, node: Node) -> float:
        """Cycles to compute a value again; where a product or the library reads it, it has to be written for them."""
        if self.joint.once_only(node):
            return INFINITE
        if not is_fused(node):
            return cycles(node, self.target, self.bandwidth)
        stored = not all(is_fused(reader) for reader in self.readers(node) if reader in self.joint.late)
        moved = 2 * node.type.bytes / self.bandwidth if stored and node.op not in VIEWS else 0.0
        return compute_cycles(node, self.target) + moved

    def readers(self, node: Node) -> tuple[Node, ...]:
        """Who reads a value, as it is or through views."""
        if node not in self._readers:
            through = ((user,) if user.op not in VIEWS else self.readers(user) for user in self.users[node])
            self._readers[node] = tuple(chain.from_iterable(through))
        return self._readers[node]

    def cut(self, price: float = 0.0) -> Choice:
        """The cheapest division where each byte that is kept costs so many cycles more."""
        network = FlowNetwork()
        source, sink = network.node(), network.node()
        places = {node: (network.node(), network.node()) for node in self.early}
        wanted = set(self.joint.wanted)
        for node, (demanded, computed) in places.items():
            keep = self.keeping(node)
            if keep != INFINITE:
                keep += price * node.type.bytes
            network.add(demanded, computed, keep)
            network.add(computed, sink, self.computing(node))
            for used in dict.fromkeys(node.inputs):
                if used in places:
                    network.add(computed, places[used][0], INFINITE)
            if node in wanted:
                network.add(source, demanded, INFINITE)
        near = network.cut(source, sink)
        kept = [node for node, (demanded, computed) in places.items() if near[demanded] and not near[computed]]
        return self.priced(frozenset(node.name for node in kept))

    def peak(self, choice: Choice) -> int:
        """Bytes that are alive at most while backward runs, roughly."""
        return backward_peak(self._keeping_only(choice.kept))

    def computed_again(self, choice: Choice) -> list[Node]:
        """What a division computes again and might keep."""
        again = self._keeping_only(choice.kept).computed_again
        return [node for node in again if node.name in self.joint.keepable]

    def _keeping_only(self, kept: frozenset[str]) -> JointGraph:
        return self.joint.recomputing(*self.joint.kept).keeping(*kept)

    def priced(self, kept: frozenset[str]) -> Choice:
        """What it takes to keep these values and to compute the others again."""
        joint = self._keeping_only(kept)
        held = joint.handed_over
        taken = sum(map(self.keeping, held)) + sum(map(self.computing, joint.computed_again))
        return Choice(frozenset(node.name for node in held), sum(node.type.bytes for node in held), taken)


def plan_partition(
    joint: JointGraph, target: Target, memory: Memory, journal: Journal, edits: Sequence[Pass] = ()
) -> tuple[JointGraph, list[Pass]]:
    """The joint graph with what is kept chosen for a budget, and the passes that chose. `edits` are passes by hand."""
    costs = Rematerialization(joint, target)
    chosen, bound = _chosen(costs, memory)
    keeps = [Keep(name) for name in _ordered(joint, chosen.kept - joint.kept)]
    again = [Recompute(name) for name in _ordered(joint, joint.kept - chosen.kept)]
    made = Recompute.apply_all(Keep.apply_all(joint, keeps), again)
    for one in edits:
        made = one(made)
    verify(made, "partition")
    _tell(costs, made, bound, journal)
    return made, [*keeps, *again, *edits]


def _chosen(costs: Rematerialization, memory: Memory) -> tuple[Choice, float]:
    """The division for a budget, and a bound from below on what any division within that budget takes."""
    fastest = costs.cut()
    if memory == "fastest" or (isinstance(memory, int) and fastest.bytes <= memory):
        return fastest, fastest.cycles
    if memory == "balanced":
        limit = fastest.cycles + SLOWER * costs.step
        cuts = [fastest, *(one for _, one in _by_price(costs, lambda one: one.cycles > limit))]
        slower = [one for one in cuts if one.cycles > limit]
        between = [_eased(costs, min(slower, key=lambda one: one.cycles), limit)] if slower else []
        within = [one for one in (*cuts, *between) if one.cycles <= limit]
        return min(within, key=lambda one: (costs.peak(one), one.bytes)), fastest.cycles
    assert isinstance(memory, int)
    tried = _by_price(costs, lambda one: one.bytes <= memory)
    fitting = [one for _, one in tried if one.bytes <= memory]
    if not fitting:
        least = min(one.bytes for _, one in tried)
        raise Problem("STR308", f"a step keeps at least {least} bytes, and the budget is {memory}",
                      help=f'memory={least}, memory="balanced", or a smaller batch')  # fmt: skip
    bound = max(one.cycles + price * (one.bytes - memory) for price, one in [(0.0, fastest), *tried])
    return _filled(costs, min(fitting, key=lambda one: one.cycles), memory), bound


def _by_price(costs: Rematerialization, far: Callable[[Choice], bool]) -> list[tuple[float, Choice]]:
    """Divisions under rising prices until one is `far` enough, then under prices around the first such price."""
    low, high = 0.0, 1e-4
    tried = [(high, costs.cut(high))]
    while not far(tried[-1][1]) and high < _HIGHEST:
        low, high = high, 8 * high
        tried.append((high, costs.cut(high)))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        tried.append((middle, costs.cut(middle)))
        low, high = (low, middle) if far(tried[-1][1]) else (middle, high)
    return tried


def _filled(costs: Rematerialization, choice: Choice, budget: int) -> Choice:
    """A division that keeps more values as long as they fit, those first that take longest to compute again."""
    for node in sorted(costs.computed_again(choice), key=costs.computing, reverse=True)[:_FILLING]:
        if choice.bytes + node.type.bytes <= budget:
            more = costs.priced(choice.kept | {node.name})
            choice = more if more.cycles < choice.cycles and more.bytes <= budget else choice
    return choice


def _eased(costs: Rematerialization, choice: Choice, limit: float) -> Choice:
    """A division that keeps more values until it takes no longer than `limit`, those first that save most for a byte:
    prices alone pass over what lies between two of their cuts."""

    def saved(node: Node) -> float:
        return (costs.computing(node) - costs.keeping(node)) / max(node.type.bytes, 1)

    for node in sorted(costs.computed_again(choice), key=saved, reverse=True):
        if choice.cycles <= limit:
            break
        more = costs.priced(choice.kept | {node.name})
        choice = more if more.cycles < choice.cycles else choice
    return choice


def _ordered(joint: JointGraph, names: frozenset[str]) -> list[str]:
    return [node.name for node in joint.graph.nodes if node.name in names]


def _tell(costs: Rematerialization, joint: JointGraph, bound: float, journal: Journal) -> None:
    for node in joint.handed_over:
        _tell_of(costs, Keep(node.name), node, journal)
    for node in joint.computed_again:
        if node.name in joint.keepable:
            _tell_of(costs, Recompute(node.name), node, journal)
    taken = costs.priced(joint.kept).cycles
    journal.add(
        "note", "partition", f"{len(joint.handed_over)} values of {joint.kept_bytes} bytes are kept for backward, at "
        f"{taken / (costs.step or 1.0):.1%} of the step; no division within the budget takes less than "
        f"{bound / (costs.step or 1.0):.1%}", bytes=joint.kept_bytes, cycles=round(taken), bound=round(bound),
    )  # fmt: skip


def _tell_of(costs: Rematerialization, one: Pass, node: Node, journal: Journal) -> None:
    keep, compute = _whole(costs.keeping(node)), _whole(costs.computing(node))
    told = f"{one}: {node.type}; keeping takes {keep} cycles, computing {'any' if compute is None else compute}"
    journal.add("choice", node.name, told, bytes=node.type.bytes, keeping_cycles=keep, computing_cycles=compute)


def _whole(cycles: float) -> int | None:
    return None if cycles == INFINITE else round(cycles)
