"""The program: an operator graph, how it is lowered, nests, schedules, interleaving, memory, and the passes behind it.

    program = Program.of(graph, target, threads, options)
    program = program.then(Rewrite("tidy"), Share(), …)
    program.history        every pass since the captured graph, which prints as text that parses back
    program.plan           what code generation needs to know

A program never changes; `then` makes another one. Each stage derives from the one before: calls from nests and their
schedules, groups of interleaved calls from windows, the arena from places. Nothing but a pass changes a program, so
that replaying its history on the captured graph makes the same code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from strop.core.extensions import is_foreign
from strop.core.options import Options
from strop.core.passes import VERIFIERS, Pass, Verdict, no
from strop.core.problem import Problem
from strop.core.values import cached_property
from strop.graph.ir import Graph, Handover
from strop.graph.passes import loss_blocks, partition
from strop.graph.passes import rewrites as graph_passes
from strop.graph.verify import verify as verify_graph
from strop.loops.calls import Call, PlannedStep
from strop.loops.ir import Buffer, Nest
from strop.loops.layout import Layout
from strop.loops.lower.graph import lower
from strop.loops.lowered import LibraryCall, Lowered, Step, require_numbers
from strop.loops.passes import blocking, compute_at, fusion, loop_modes, packing, primitives
from strop.loops.passes import layouts as layout_passes
from strop.loops.passes.fusion import FusionPass
from strop.loops.rewriting import rename
from strop.loops.verify import verify as verify_steps
from strop.schedule import constraints, lowering, memory, read_packed, sliding_window
from strop.schedule.constraints import Constraints
from strop.schedule.lowering import Choices, Lower
from strop.schedule.memory import Arena, Borders, Lifetimes, replaceable
from strop.schedule.parameter_program import Packing, divide
from strop.schedule.scheduler import Scheduled, Scheduler, scheduled
from strop.schedule.sliding_window import Interleaving, SlidingWindow, grouped, interleaved
from strop.schedule.step_order import freeing_early, packed_on_the_way
from strop.schedule.tuned import tuned_schedules
from strop.schedule.window_chain import InterleavedCalls
from strop.target.description import Target

#: every module of passes, which are found by name once these are imported
PASSES = (
    partition,
    loss_blocks,
    graph_passes,
    primitives,
    loop_modes,
    blocking,
    packing,
    layout_passes,
    fusion,
    compute_at,
    lowering,
    constraints,
    read_packed,
    sliding_window,
    memory,
)


@dataclass(frozen=True)
class Plan:
    """Everything that code generation and the runtime need to know."""

    prepare: tuple[Call, ...]
    steps: tuple[PlannedStep, ...]
    strips: Mapping[int, InterleavedCalls]
    inputs: tuple[Buffer, ...]
    params: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    constants: Mapping[Buffer, tuple[object, ...]]
    arena: Arena
    packed: tuple[Buffer, ...]  # what steps read of what the parameter program makes, in the order of its use
    packings: tuple[Packing, ...]
    threads: int
    layouts: Mapping[str, Layout] = field(default_factory=dict)

    @property
    def packed_bytes(self) -> int:
        return sum(packing.bytes for packing in self.packings)

    @property
    def sequence(self) -> list[PlannedStep | InterleavedCalls]:
        """The steps as they run: those that take turns as one."""
        return grouped(self.steps, self.strips)


@dataclass(frozen=True)
class Program:
    """A graph on its way to code, as far as it has come."""

    choices: Choices
    scheduler: Scheduler = field(compare=False, repr=False)
    lowered: Lowered | None = None
    apart: frozenset[frozenset[str]] = frozenset()  # nests that are not fused
    pinned: Mapping[str, str] = field(default_factory=dict)  # layouts that are not chosen
    schedules: Mapping[str, tuple[Pass, ...]] = field(default_factory=dict)
    windows: tuple[SlidingWindow, ...] = ()
    places: Mapping[str, int] = field(default_factory=dict)
    history: tuple[Pass, ...] = ()
    handover: Handover | None = None  # of half of a training step: what of its caller's lies in its arena

    @staticmethod
    def of(graph: Graph, target: Target, threads: int, options: Options, lowered: Lowered | None = None) -> Program:
        """The program before any pass; `lowered` where its nests were written by hand."""
        # schedules are tuned without cascades, of which theirs would lose the subtotals
        plain = options.tuned and not options.cascades
        tuned = tuned_schedules(target, threads, options.pack) if plain else {}
        scheduler = Scheduler(target, threads, options.pack, tuned, cascades=options.cascades)
        return Program(Choices(graph, target, threads, options), scheduler, lowered, handover=graph.handover)

    @property
    def graph(self) -> Graph:
        return self.choices.graph

    @property
    def target(self) -> Target:
        return self.choices.target

    @property
    def threads(self) -> int:
        return self.choices.threads

    @property
    def options(self) -> Options:
        return self.choices.options

    @property
    def nests(self) -> Lowered:
        if self.lowered is None:
            raise Problem("STR301", "the graph was not lowered yet", help="lower{} comes first")
        return self.lowered

    # ---- what derives from it ----

    @cached_property
    def scheduled(self) -> Scheduled:
        return scheduled(self.nests, self.schedules, self.scheduler)

    @cached_property
    def interleaved(self) -> tuple[tuple[PlannedStep, ...], Mapping[int, InterleavedCalls]]:
        if not self.windows:
            return self.scheduled.steps, {}
        return interleaved(self.scheduled.steps, self.windows, self.target, self.threads)

    @cached_property
    def ordered(self) -> tuple[tuple[PlannedStep, ...], Mapping[int, InterleavedCalls]]:
        """Steps in the order in which they run. Weights of a training step change with every call: each is packed
        where it is first read, and its memory is free after the last reader."""
        steps, groups = self.interleaved
        if self.handover is None:
            return steps, groups
        steps, groups = packed_on_the_way(self._packings, steps, groups)
        borders = self._borders
        outside = {b for step in steps for b in step.touched if b.space not in ("arena", "packed") and b not in borders}
        held = {b for b in borders.given if b in borders.lasting} | borders.returned.keys()
        return freeing_early(steps, groups, outside, borders.given.keys(), held)

    @property
    def every_call(self) -> tuple[PlannedStep, ...]:
        """The steps that every call runs, before some are interleaved: a training step packs its weights, too."""
        packings = () if self.handover is None else self._packings
        return (*(call for packing in packings for call in packing.calls), *self.scheduled.steps)

    @property
    def _packed(self) -> tuple[Buffer, ...]:
        """What steps read of what is made of parameters, in their order."""
        steps, _ = self.interleaved
        return tuple(dict.fromkeys(b for step in steps for b in step.touched if b.space == "packed"))

    @property
    def _packings(self) -> tuple[Packing, ...]:
        return divide(self.scheduled.prepare, self._packed, self.nests.constants)

    @cached_property
    def lifetimes(self) -> Lifetimes:
        steps, groups = self.ordered
        borders = self._borders
        library = {b for step in steps if isinstance(step, LibraryCall) for b in step.outputs} - borders.returned.keys()
        touching = [[b for b in s.touched if b not in library] for s in grouped(steps, groups)]
        made = Lifetimes.of(touching, borders=borders)
        replacing = self._replacing(made) if self.handover is not None else {}
        return replace(made, offsets=self.places, replacing=replacing)

    def _replacing(self, lifetimes: Lifetimes) -> dict[Buffer, frozenset[Buffer]]:
        """For each tensor those in whose places it may be computed, which are read for the last time for it."""
        found: dict[Buffer, frozenset[Buffer]] = {}
        for position, step in enumerate(grouped(*self.ordered)):
            for target, source in _in_place(step):
                if lifetimes.first.get(target) == position == lifetimes.last.get(source):
                    found[target] = found.get(target, frozenset()) | {source}
        return found

    @property
    def _borders(self) -> Borders:
        if self.handover is None:
            return Borders()
        inputs, outputs = self.nests.inputs, self.nests.outputs
        packed = frozenset(b for call in self.scheduled.prepare for b in call.touched if b.space == "packed")
        returned = {outputs[i]: at for i, at in self.handover.outputs if outputs[i].space == "output"}
        given = {inputs[i]: at for i, at in self.handover.inputs}
        return Borders(given, frozenset(inputs[i] for i in self.handover.lasting), returned, packed)

    @cached_property
    def plan(self) -> Plan:
        steps, groups = self.ordered
        missing = next((name for name in self.lifetimes.named if name not in self.places), None)
        if missing is not None:
            raise Problem("STR301", f"`{missing}` has no place in memory yet", help="place{} comes first")
        lowered = self.nests
        used = self._packed if self.handover is None else ()
        packings = self._packings if self.handover is None else ()
        return Plan(
            tuple(call for packing in packings for call in packing.calls),
            steps,
            groups,
            lowered.inputs,
            lowered.params,
            lowered.outputs,
            lowered.constants,
            self.lifetimes.arena,
            used,
            packings,
            self.threads,
            lowered.layouts,
        )

    # ---- passes ----

    def check(self, one: Pass) -> Verdict:
        """Whether a pass may come next, and if not, why."""
        late = self._late(one)
        if late:
            return no(late)
        if one.level == "graph":
            return one.check(self.graph)
        if one.level == "lowering":
            return one.check(self.choices)
        if one.level == "constraints":
            return one.check(Constraints(self.nests, self.apart, self.pinned))
        if one.level == "nests":
            return one.check(self.nests)
        if one.level == "loops":
            return self._check_loops(one)
        if one.level == "windows":
            return one.check(Interleaving(self.scheduled.steps, self.target, self.threads, self.windows))
        return one.check(self.lifetimes)

    def _late(self, one: Pass) -> str:
        """Why a pass comes too late or too early; empty where it does not."""
        if one.level == "partition":
            return "it decides what a training step keeps, before its halves become programs (option `partition`)"
        if one.level in ("graph", "lowering"):
            return "the graph was lowered already" if self.lowered is not None else ""
        if self.lowered is None:
            return "the graph was not lowered yet: lower{} comes first"
        require_numbers(self.lowered)
        if one.level == "nests" and self.schedules:
            return "nests have schedules already"
        if one.level in ("nests", "loops") and self.windows:
            return "nests take turns already"
        return "tensors have their places already" if one.level != "memory" and self.places else ""

    def _check_loops(self, one: Any) -> Verdict:
        call = self.scheduled.calls.get(one.nest)
        if call is None:
            return no(f"there is no nest `{one.nest}`")
        return self.scheduler.check(call, one)

    def then(self, *passes: Pass, check: bool = False) -> Program:
        """The program after some passes; with `check` each is asked first, and what it made is verified."""
        program = self
        for level, group in groupby(passes, key=lambda one: one.level):
            program = program._then(level, list(group), check)
        return program

    def _then(self, level: str, passes: list[Pass], check: bool) -> Program:
        history = (*self.history, *passes)
        late = self._late(passes[0])
        if late:
            raise Problem("STR301", f"{passes[0]}: {late}")
        if level == "graph":
            graph = _applied(self.graph, passes, check, verify_graph)
            return self.having(choices=replace(self.choices, graph=graph), history=history)
        if level == "lowering":
            return self._chosen(passes, check).having(history=history)
        if level == "constraints":
            found = _applied(Constraints(self.nests, self.apart, self.pinned), passes, check, None)
            return self.having(apart=found.apart, pinned=found.pinned, history=history)
        if level == "nests":
            return self.having(lowered=_applied(self.nests, passes, check, _verify_lowered), history=history)
        if level == "loops":
            schedules = dict(self.schedules)
            for one in passes:
                name = one.nest  # type: ignore[attr-defined]
                schedules[name] = (*schedules.get(name, ()), one)
            made = self.having(schedules=schedules, history=history)
            if check:
                made.verify(str(passes[-1]))
            return made
        if level == "windows":
            steps = Interleaving(self.scheduled.steps, self.target, self.threads, self.windows)
            windows = _applied(steps, passes, check, None).windows
            return self.having(windows=windows, history=history)
        offsets = _applied(self.lifetimes, passes, check, None).offsets
        return self.having(places=offsets, history=history)

    def having(self, **new: Any) -> Program:
        """The program with other data; what derives from the same as before is not derived again."""
        made = replace(self, **new)
        for derived, needs in _DERIVED.items():
            if derived in self.__dict__ and needs.isdisjoint(new):
                made.__dict__[derived] = self.__dict__[derived]
        return made

    def _chosen(self, passes: Sequence[Pass], check: bool) -> Program:
        """The program with other ways to lower its nodes; lowered, where `lower{}` is the last of the passes."""
        last = passes[-1]
        choices = _applied(self.choices, [one for one in passes if not isinstance(one, Lower)], check, None)
        if not isinstance(last, Lower):
            return self.having(choices=choices)
        if check:
            _require(last, choices)
        lowered = _lowered(choices)
        if check:
            _verify_lowered(lowered, str(last))
        return self.having(choices=choices, lowered=lowered)

    def verify(self, step: str) -> None:
        """Raise where the graph, the nests or their schedules do not make sense, and name the step that broke them."""
        if self.lowered is None:
            verify_graph(self.graph, step)
            return
        if not self.schedules:
            _verify_lowered(self.lowered, step)
            return
        prepare = [as_nest(call) for call in self.scheduled.prepare]
        verify_steps(prepare, step)
        verify_steps(map(as_step, self.scheduled.steps), step, (b for nest in prepare for b in nest.writes))


#: what of a program derives from which of its data
_DERIVED: Mapping[str, frozenset[str]] = {
    "scheduled": frozenset(("lowered", "schedules")),
    "interleaved": frozenset(("lowered", "schedules", "windows")),
    "ordered": frozenset(("lowered", "schedules", "windows")),
    "lifetimes": frozenset(("lowered", "schedules", "windows", "places")),
    "plan": frozenset(("choices", "lowered", "schedules", "windows", "places")),
}


def _in_place(step: PlannedStep | InterleavedCalls) -> Iterator[tuple[Buffer, Buffer]]:
    """Pairs of a tensor and one whose place it may take in a step; of calls that take turns, the last computes each of
    its elements once, and no other may touch them."""
    if isinstance(step, LibraryCall):
        return
    if isinstance(step, Call):
        yield from replaceable(step)
        return
    others = {buffer for call in step.calls[:-1] for buffer in call.touched}
    for target, source in replaceable(step.calls[-1]):
        if target not in others and source not in others:
            yield target, source


def _applied(ir: Any, passes: Sequence[Pass], check: bool, verify: Any) -> Any:
    """An IR after passes of its level: those of a kind together, or with `check` one by one, and verified."""
    if not check:
        for kind, group in groupby(passes, key=_kind):
            ir = kind.apply_all(ir, list(group))
        return ir
    for one in passes:
        _require(one, ir)
        ir = one.apply(ir)
    if verify is not None and passes:
        verify(ir, str(passes[-1]))
    return ir


def _lowered(choices: Choices) -> Lowered:
    """A graph as nests. Numbers of an algorithm that were given by hand may not fit its node."""
    nodes = {node.name: node for node in choices.graph.nodes}
    algorithms = {nodes[name]: one for name, one in choices.algorithms.items()}
    try:
        library = {nodes[name]: why for name, why in choices.library.items()}
        return lower(choices.graph, algorithms, library, choices.lowerings)
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
        given = [name for name, one in choices.algorithms.items() if one not in choices.possible(name).values()]
        if not given:
            raise
        raise Problem("STR301", f"the numbers of its algorithm do not fit: {choices.algorithms[given[0]]}",
                      where=given[0], help="without `how`, the best numbers are taken") from error  # fmt: skip


def _kind(one: Pass) -> type[Pass]:
    """The class that applies several passes at once."""
    return FusionPass if isinstance(one, FusionPass) and not is_foreign(type(one).__module__) else type(one)


def _require(one: Pass, ir: Any) -> None:
    verdict = one.check(ir)
    if not verdict:
        raise Problem("STR301", f"{one}: {verdict.why}", where=verdict.where)


def _verify_lowered(lowered: Lowered, after: str) -> None:
    verify_steps(lowered.once, after)
    verify_steps(lowered.nests, after, (buffer for nest in lowered.once for buffer in nest.writes))


VERIFIERS[Lowered] = _verify_lowered


def as_nest(call: Call) -> Nest:
    """A planned call as the nest that it is, over the buffers that it runs on, under its own name."""
    return replace(rename(call.nest, call.actual), name=call.name, origin=call.source.origin, note=call.source.note)


def as_step(step: PlannedStep) -> Step:
    return step if isinstance(step, LibraryCall) else as_nest(step)
