"""Why two neighbours are two nests: the rule that is nearest to making one of them, its reason, what it would need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from strop.core.journal import Event, Journal
from strop.core.passes import Pass, Verdict, no
from strop.core.problem import Problem
from strop.driver.pipeline import Stages
from strop.graph.operators import VIEWS
from strop.loops.calls import Call
from strop.loops.ir import Nest
from strop.loops.lower.graph import SOURCES
from strop.loops.lowered import LibraryCall, Lowered, Step, reads, writes
from strop.loops.passes.compute_at import ComputeAt
from strop.loops.passes.fusion import Epilogue, FusionPass, Inline, ScaleWeights, ShareLoops, Steps
from strop.loops.passes.layouts import BORDER_COPY
from strop.loops.passes.merging import is_pointwise
from strop.schedule.constraints import KeepApart
from strop.schedule.fuse import fused
from strop.schedule.lowering import ChooseAlgorithm
from strop.schedule.planners import fuse_nests, lower_graph
from strop.session.provenance import Provenance
from strop.session.space import fusions as rules
from strop.session.views import Fusion, Refusal, WhyNot

_LEFT = no("the planner did not come back to them after another fusion had made it legal", needs="this pass, by hand")


#: rules by which the consumer goes into its producer's loops
_BEHIND = (Epilogue.title, ShareLoops.title)


class FusionAnswers:
    """What was fused in one program and what was not. `edits` are passes by hand."""

    def __init__(self, stages: Stages, links: Provenance, edits: Sequence[Pass]) -> None:
        self.stages, self.links, self.edits = stages, links, edits
        self._direct: dict[str, list[frozenset[str]]] = {}

    @cached_property
    def lowered(self) -> Lowered:
        """The nests after fusion, with what was fused by hand; parameters are not hoisted yet."""
        return self.stages.programs["fuse"].then(*(one for one in self.edits if one.level == "nests")).nests

    @cached_property
    def steps(self) -> Steps:
        return Steps(self.lowered)

    @cached_property
    def _events(self) -> tuple[Event, ...]:
        """What the planner of fusions writes down for this program."""
        program, journal = self.stages.programs["lower"], Journal()
        fused(program.nests, journal, keep=program.options.pack, apart=program.apart)
        return tuple(event for event in journal.events if event.kind in ("fusion", "refusal"))

    @cached_property
    def fusions(self) -> tuple[Fusion, ...]:
        return tuple(
            Fusion(producer, consumer, rule, min(self._parts_of(producer if rule in _BEHIND else consumer)), saved)
            for producer, consumer, rule, saved in self._fused
        )

    @cached_property
    def _fused(self) -> list[tuple[str, str, str, int]]:
        """Producer, consumer, rule and the bytes that need not be moved any more."""
        told = [event.data for event in self._events if event.kind == "fusion"]
        found = [(one["producer"], one["consumer"], one["rule"], one["saved_bytes"]) for one in told]
        return [*found, *self._by_hand()]

    @cached_property
    def _into(self) -> dict[str, set[str]]:
        """The nests that others have gone into."""
        found: dict[str, set[str]] = {}
        for producer, consumer, rule, _ in self._fused:
            gone, stays = (consumer, producer) if rule in _BEHIND else (producer, consumer)
            found.setdefault(gone, set()).add(stays)
        return found

    def _by_hand(self) -> list[tuple[str, str, str, int]]:
        """What passes by hand made one of two."""
        lowered = self.stages.programs["fuse"].nests
        found = []
        for one in (one for one in self.edits if one.level == "nests"):
            if isinstance(one, Epilogue | ShareLoops):
                found.append((one.of, one.nest, one.title, 0))
            elif isinstance(one, ScaleWeights | ComputeAt):
                found.append((one.nest, one.into, one.title, 0))
            elif isinstance(one, Inline):
                written = next(step for step in lowered.nests if step.name == one.nest)
                readers = [step for step in lowered.nests if set(reads(step)) & set(writes(written))]
                found += [(one.nest, step.name, one.title, 0) for step in readers]
            lowered = one.apply(lowered)
        return found

    def _parts_of(self, name: str) -> set[str]:
        """The nests after fusion that a nest before it has become a part of."""
        into = self._into.get(name)
        return {last for one in into for last in self._parts_of(one)} if into else {name}

    @cached_property
    def refusals(self) -> tuple[Refusal, ...]:
        told = [event.data for event in self._events if event.kind == "refusal"]
        return tuple(
            Refusal(one["producer"], one["consumer"], one["rule"], one["reason"], one["needs"]) for one in told
        )

    # ---- one pair ----

    def why_not(self, a: str, b: str) -> WhyNot:
        """Of nodes, nests or steps of the plan, in either order."""
        plain = self._added(a, b) or self._added(b, a) or self._uncomputed(a, b)
        if plain is not None:
            return plain
        ours, theirs = self._steps_of(a), self._steps_of(b)
        both = next((step for step in ours if step in theirs), None)
        if both is not None:
            return self._one_nest(a, b, both)
        pair = self._connected(ours, theirs)
        return self._strangers(ours[0], theirs[0]) if pair is None else self._refused(*pair)

    def _uncomputed(self, a: str, b: str) -> WhyNot | None:
        """Of inputs, parameters, constants and views, which no nest computes; none where both are computed."""
        nodes = self.stages.programs["capture"].graph.nodes, self.stages.graph.nodes
        known = {node.name: node for some in nodes for node in some}
        for name, other in ((a, b), (b, a)):
            node = known.get(name)
            if node is None or self._names_of(name):
                continue
            if node.op in ("input", "param", "constant"):
                reason = f"`{name}` is of the kind `{node.op}`: no nest computes it, `{other}` reads it where it lies"
                return WhyNot(a, b, False, node.op, reason, "a value that a nest computes", ())
            if node.op in VIEWS or node.op in SOURCES or node.op == "item":
                reason = f"`{name}` (`{node.op}`) moves nothing: who reads it composes its index with theirs"
                return WhyNot(a, b, True, "view", reason, "", ())
            reason = f"`{name}` (`{node.op}`) is not there any more: a rewrite made it a part of another node"
            return WhyNot(a, b, True, "rewrite", reason, "", ())
        return None

    def together(self, a: str, b: str) -> bool:
        """Whether a nest computes both of two nodes or nests."""
        return not {*self._names_of(a)}.isdisjoint(self._names_of(b))

    def _names_of(self, name: str) -> tuple[str, ...]:
        """The steps after fusion that a name stands for: the step itself, those that a nest has become a part of, or
        those that compute a node."""
        if name in self._named:
            return (name,)
        if name in self._before:
            return tuple(one for one in sorted(self._parts_of(name)) if one in self._named)
        return self._computing.get(name, ())

    @cached_property
    def _named(self) -> dict[str, Step]:
        return {step.name: step for step in self.lowered.nests}

    @cached_property
    def _before(self) -> frozenset[str]:
        return frozenset(step.name for step in self.stages.programs["lower"].nests.nests)

    @cached_property
    def _computing(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for step in self.lowered.nests:
            for node in self.links.nodes_of(step):
                found[node] = (*found.get(node, ()), step.name)
        return found

    def _steps_of(self, name: str) -> list[Step]:
        found = [self._named[one] for one in self._names_of(name)]
        if not found:
            near = ", ".join(step.name for step in self.lowered.nests[:8])
            help = f"views, inputs and parameters are not computed; nests are: {near} …"
            raise Problem("STR304", f"no nest computes `{name}`", help=help)
        return found

    def _connected(self, ours: Sequence[Step], theirs: Sequence[Step]) -> tuple[Step, Step] | None:
        """A pair of steps of which the second reads what the first writes."""
        place = {step.name: i for i, step in enumerate(self.lowered.nests)}
        for some, others in ((ours, theirs), (theirs, ours)):
            for producer in some:
                for consumer in others:
                    before = place[producer.name] < place[consumer.name]
                    if before and set(writes(producer)) & set(reads(consumer)):
                        return producer, consumer
        return None

    def _one_nest(self, a: str, b: str, step: Step) -> WhyNot:
        names = {a, b}
        known = next((one for one in self.fusions if {one.producer, one.consumer} == names), None)
        rule = known.rule if known else "lowering"
        reason = f"{rule} made them parts of `{step.name}`" if known else f"both are computed in `{step.name}`"
        return WhyNot(a, b, True, rule, reason, "", ())

    def _strangers(self, a: Step, b: Step) -> WhyNot:
        reason = f"`{b.name}` reads nothing that `{a.name}` writes, nor the other way round"
        beside = [one for one in (ShareLoops(b.name, a.name), ShareLoops(a.name, b.name)) if one.can(self.steps)]
        needs = "a tensor that one of them writes and the other reads"
        return WhyNot(a.name, b.name, False, ShareLoops.title, reason, needs, tuple(beside[:1]))

    def _refused(self, producer: Step, consumer: Step) -> WhyNot:
        verdicts = [(one, one.can(self.steps)) for one in rules(producer.name, consumer.name)]
        legal = next((one for one, verdict in verdicts if verdict), None)
        told = [(one, self._planner(one, producer, consumer) if verdict else verdict) for one, verdict in verdicts]
        nearest = legal or _nearest(producer, consumer)
        rule, verdict = next((pair for pair in told if type(pair[0]) is type(nearest)), told[0])
        others = tuple(
            Refusal(producer.name, consumer.name, one.title, said.why, said.needs)
            for one, said in told
            if one is not rule
        )
        if self._kept_apart(producer, consumer):
            verdict = no("they are to be kept apart", needs="the pass keepapart taken back")
        enabling = tuple(self._enabling(producer, consumer, legal))
        return WhyNot(
            producer.name,
            consumer.name,
            False,
            rule.title,
            verdict.why,
            verdict.needs or "another rule",
            enabling,
            others,
        )

    def _kept_apart(self, producer: Step, consumer: Step) -> bool:
        """Whether a pass by hand says so, of them or of what they have become a part of."""
        ours, theirs = ({step.name, *self.links.nodes_of(step)} for step in (producer, consumer))
        pairs = [(one.a, one.b) for one in self.edits if isinstance(one, KeepApart)]
        return any((a in ours and b in theirs) or (b in ours and a in theirs) for a, b in pairs)

    def _planner(self, one: FusionPass, producer: Step, consumer: Step) -> Verdict:
        """Why the planner left a fusion that is legal."""
        mine = [told for told in self.refusals if told.rule == one.title and told.producer == producer.name]
        exact = next((told for told in mine if told.consumer == consumer.name), None)
        if exact is not None:
            return no(exact.reason, needs=exact.needs)
        other = next(iter(mine), None) if isinstance(one, Inline) else None
        if other is not None:
            return no(f"all readers would compute it, and of `{other.consumer}`: {other.reason}", needs=other.needs)
        return _LEFT

    def _enabling(self, producer: Step, consumer: Step, legal: FusionPass | None) -> Iterator[Pass]:
        """A pass that makes one nest of them."""
        if legal is not None:
            yield legal
            return
        if not isinstance(producer, Nest) or not isinstance(consumer, Nest):
            return
        for loop in consumer.loops:
            if loop.extent > 1 and (one := ComputeAt(producer.name, consumer.name, loop.name)).check(self.lowered):
                yield one
                return
        yield from self._other_algorithm(producer, consumer)

    def _other_algorithm(self, producer: Nest, consumer: Nest) -> Iterator[Pass]:
        """The direct algorithm of a node whose nests do not let anything in, if that makes the difference."""
        if not is_pointwise(producer) and not is_pointwise(consumer):
            return
        nodes = {*self.links.nodes_of(producer)}, {*self.links.nodes_of(consumer)}
        for name in sorted(nodes[0] | nodes[1]):
            if name not in self.stages.programs["choose algorithms"].choices.algorithms:
                continue
            if any(all(together & wanted for wanted in nodes) for together in self._computed_directly(name)):
                yield ChooseAlgorithm(name, "direct")
                return

    def _computed_directly(self, name: str) -> list[frozenset[str]]:
        """The nodes of each nest, if one node were computed by its direct algorithm."""
        if name not in self._direct:
            program, journal = self.stages.programs["choose algorithms"], Journal()
            program = lower_graph(program.then(ChooseAlgorithm(name, "direct")), journal)
            nests = fuse_nests(program, journal).nests.nests
            self._direct[name] = [frozenset(self.links.nodes_of(step)) for step in nests]
        return self._direct[name]

    def _added(self, a: str, b: str) -> WhyNot | None:
        """Of a step that was put in when tensors were laid out or operands packed; none where `a` is not one."""
        call, other = self.links.calls.get(a), self.links.calls.get(b)
        if not isinstance(call, Call) or other is None:
            return None
        note, name = call.source.note, call.written[0].name
        if call.source in self.lowered.nests or not (note in _ADDED or note.startswith("pack ")):
            return None
        rule, reason, needs = _ADDED.get(note, _PACKED)
        told = reason.format(tensor=name, other=b)
        producer, consumer = (a, b) if set(call.written) & set(_touched(other)) else (b, a)
        return WhyNot(producer, consumer, False, rule, told, needs, ())


#: what is put in after fusion: rule, reason, needs
_ADDED = {
    BORDER_COPY: (
        "layout",
        "it copies `{tensor}` between the layout that the caller or another reader wants and the one that `{other}` "
        "works on",
        "one layout that serves all who touch the tensor: `pin` sets one, and shows what the others then cost",
    ),
    "zeros around the edge": (
        "layout",
        "it writes the zeros around `{tensor}` once, so that `{other}` and others need no guards",
        "a window that does not reach over the edge",
    ),
}
_PACKED = (
    "pack",
    "it lays `{tensor}` out in the order in which the tile of `{other}` reads it, each element once",
    "a schedule that reads the operand as it is: `reset` and other loops",
)


def _touched(step: Call | LibraryCall) -> tuple[object, ...]:
    return step.touched if isinstance(step, Call) else step.inputs


def _nearest(producer: Step, consumer: Step) -> FusionPass:
    """The rule that is nearest to being legal."""
    behind, into = Epilogue(consumer.name, producer.name), Inline(producer.name)
    if isinstance(consumer, LibraryCall) or isinstance(producer, LibraryCall) or is_pointwise(consumer):
        return behind
    return into if is_pointwise(producer) else behind
