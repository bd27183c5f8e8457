"""Nests and their schedules as calls: which nest runs on which buffers, and what is packed for it before any call.

Nests that differ only in names are scheduled and emitted once. A schedule is a list of passes under the names that
people see; inside, names say nothing (`canonicalise`), so that equal nests are found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

from strop.core.passes import Pass, Verdict
from strop.core.problem import Problem
from strop.core.values import changed
from strop.cost.model import estimate, guess
from strop.loops.calls import Call, PlannedStep, canonicalise
from strop.loops.ir import CONSTANT, Buffer, Nest, Store
from strop.loops.lowered import LibraryCall, Lowered
from strop.loops.passes.loop_modes import ready
from strop.loops.passes.packing import Pack, Prefetch, PrefetchNext
from strop.loops.passes.primitives import Reset
from strop.loops.rewriting import rename
from strop.schedule.builder import ScheduleBuilder
from strop.schedule.default import schedule
from strop.schedule.mutations import made
from strop.schedule.read_packed import ReadPacked, reading_packed, worth_reading_packed
from strop.schedule.tuned import nest_digest, parsed
from strop.target.description import Target

_QUOTED = re.compile(r"`([^`]+)`")

Schedules = Mapping[str, tuple[Pass, ...]]


@dataclass(frozen=True)
class Scheduled:
    """Calls in order: those of the parameter program, and those that every call of the program makes."""

    prepare: tuple[Call, ...] = ()
    steps: tuple[PlannedStep, ...] = ()

    @property
    def calls(self) -> dict[str, Call]:
        return {call.name: call for call in (*self.prepare, *self.steps) if isinstance(call, Call)}


class Scheduler:
    """Schedules for one machine, each distinct nest once."""

    def __init__(
        self,
        target: Target,
        threads: int,
        pack: bool = True,
        tuned: Mapping[str, str] | None = None,
        *,
        cascades: bool = False,
    ) -> None:
        """`tuned` are schedules out of the tuning database, as text, by the digest of their nests; with `cascades` sums
        are as exact as eager's."""
        self.target, self.threads, self.pack, self.tuned = target, threads, pack, tuned or {}
        self.cascades = cascades
        self._default: dict[Nest, ScheduleBuilder] = {}
        self._chosen: dict[Nest, ScheduleBuilder] = {}
        self._prices: dict[Nest, float] = {}
        self._applied: dict[tuple[Nest, tuple[Pass, ...]], ScheduleBuilder] = {}

    def chosen(self, canonical: Nest) -> ScheduleBuilder:
        """The schedule that a nest gets unless told: the tuned one where there is one."""
        if canonical not in self._chosen:
            made = self._chosen[canonical] = self._tuned(canonical) or self.default(canonical)
            self._applied[canonical, tuple(made.passes)] = made
        return self._chosen[canonical]

    def default(self, canonical: Nest) -> ScheduleBuilder:
        """The schedule that a nest gets where it was not tuned."""
        if canonical not in self._default:
            made = schedule(canonical, self.target, self.threads, self.pack, cascades=self.cascades)
            self._default[canonical] = made
        return self._default[canonical]

    def _tuned(self, canonical: Nest) -> ScheduleBuilder | None:
        text = self.tuned.get(nest_digest(canonical)) if self.tuned else None
        passes = parsed(text) if text is not None else None
        return made(canonical, passes, self.default(canonical)) if passes else None

    def price(self, nest: Nest) -> float:
        """Cycles that the model guesses for a nest under its default schedule. Layouts are chosen by these: they do not
        depend on what was tuned, or no compilation would find the nests that tuning has seen."""
        canonical, _ = canonicalise(nest)
        if canonical not in self._prices:
            self._prices[canonical] = sum(
                guess(one, self.target, self.threads).cycles for one in self._parts(canonical)
            )
        return self._prices[canonical]

    def careful_price(self, nest: Nest) -> float:
        """The same by the assembly of its tiles, which takes a tenth of a second."""
        canonical, _ = canonicalise(nest)
        return sum(estimate(one, self.target, self.threads).cycles for one in self._parts(canonical))

    def _parts(self, canonical: Nest) -> list[Nest]:
        """A nest under its default schedule, and the copies that it makes at every call."""
        recipe = self.default(canonical)
        packed = [copy for copy in recipe.copies if copy.reads[0].space not in CONSTANT]
        return [recipe.nest, *(self.default(canonicalise(copy)[0]).nest for copy in packed)]

    def applied(self, canonical: Nest, passes: tuple[Pass, ...]) -> ScheduleBuilder:
        """A nest after some passes; a refusal is raised."""
        key = (canonical, passes)
        if key not in self._applied:
            recipe = ScheduleBuilder(canonical, self.target, self.threads, self.pack)
            for one in passes:
                recipe.do(one)
            self._applied[key] = recipe
        return self._applied[key]

    def check(self, call: Call, one: Pass) -> Verdict:
        """Whether a pass may follow those of a call's schedule, and if not, why."""
        canonical, actual = canonicalise(call.source)
        passes = tuple(anonymised(given, call.source, actual) for given in call.passes)
        return anonymised(one, call.source, actual).check(self.applied(canonical, passes).nest)


def scheduled(lowered: Lowered, schedules: Schedules, scheduler: Scheduler) -> Scheduled:
    """The calls of a program whose nests have these schedules; a nest without one runs as it is."""
    return _Calls(scheduler, schedules).of(lowered)


def chosen_schedules(
    lowered: Lowered, scheduler: Scheduler, edits: Schedules | None = None, *, release: bool = False
) -> tuple[dict[str, tuple[Pass, ...]], Scheduled]:
    """A schedule for every nest, and the calls that they make. `edits` are passes by hand: they follow those that are
    chosen, or take their place after `plain{}`. With `release`, packed copies stand in for parameters of which little
    is read as it is, so that these can go."""
    calls = _Choosing(scheduler, edits or {})
    made = calls.of(lowered)
    if not release:
        return calls.chosen, made
    for call in worth_reading_packed(made.steps, made.prepare):
        copies, again = calls.calls(reading_packed(call.source, made.prepare))
        calls.chosen[call.name] = (ReadPacked(call.name), *calls.chosen[call.name])
        position = made.steps.index(call)
        steps = (*made.steps[:position], *again, *made.steps[position + 1 :])
        made = Scheduled((*made.prepare, *copies), steps)
    return calls.chosen, made


@dataclass
class _Calls:
    """Calls in the making; operands that several nests read in one order are packed once, until they are written."""

    scheduler: Scheduler
    schedules: Schedules
    packed: dict[tuple[Buffer, Nest], Buffer] = field(default_factory=dict)

    def of(self, lowered: Lowered) -> Scheduled:
        prepare = [call for nest in lowered.once for part in self.calls(nest) for call in part]
        steps: list[Sequence[PlannedStep]] = []
        later: list[tuple[int, Nest]] = []  # those that read what others have packed
        for position, step in enumerate(lowered.nests):
            if isinstance(step, LibraryCall):
                steps.append([step])
                continue
            if isinstance(next(iter(self.schedules.get(step.name, ())), None), ReadPacked):
                later.append((position, step))
                steps.append(())
                continue
            copies, calls = self.calls(step)
            prepare += copies
            steps.append(calls)
        for position, nest in later:
            copies, steps[position] = self.calls(reading_packed(nest, prepare))
            prepare += copies
        return Scheduled(tuple(prepare), tuple(chain.from_iterable(steps)))

    def passes_of(self, nest: Nest, canonical: Nest, actual: Mapping[Buffer, Buffer]) -> tuple[Pass, ...]:
        """The schedule of a nest on canonical names."""
        return tuple(anonymised(one, nest, actual) for one in self.schedules.get(nest.name, ()))

    def calls(self, nest: Nest) -> tuple[list[Call], list[Call]]:
        """Calls for the parameter program (packed parameters), and those of the nest itself: after the calls that pack
        what changes from call to call."""
        canonical, actual = canonicalise(nest)
        passes = self.passes_of(nest, canonical, actual)
        try:
            recipe = self.scheduler.applied(canonical, passes)
        except Problem as problem:
            raise self._refusal(nest, canonical, actual, passes) from problem
        verdict = ready(recipe.nest)
        if not verdict:
            raise Problem("STR301", f"this schedule can't be emitted: {verdict.why}", where=nest.name)
        before: list[Call] = []
        here: list[Call] = []
        for number, copy in enumerate(recipe.copies):
            target = copy.writes[0]
            source = actual[copy.reads[0]]
            alike = (source, canonicalise(copy)[0])
            if alike in self.packed:
                actual = {**actual, target: self.packed[alike]}
                continue
            name = f"{nest.name}:{source.name}"
            while any(b.name == name for b in actual.values()):  # another part of it is packed too
                name += ".more"
            constant = source.space in CONSTANT
            real = self.packed[alike] = replace(target, name=name, space="packed" if constant else "arena")
            actual = {**actual, target: real}
            moved = rename(copy, {target: real, copy.reads[0]: source}).map_stores(partial(_in_place_of, nest))
            title = f"{nest.name}.pack{number + 1 if number else ''}"
            (before if constant else here).extend(self.calls(replace(moved, name=title, origin=nest.origin))[1])
        written = {actual[b] for b in recipe.nest.writes}
        self.packed = {alike: real for alike, real in self.packed.items() if alike[0] not in written}
        told = all_renamed(passes, nest, actual)
        touched = {b: actual[b] for b in (*recipe.nest.reads, *recipe.nest.writes)}
        return before, [*here, Call(nest.name, recipe.nest, touched, nest, told)]

    def _refusal(self, nest: Nest, canonical: Nest, actual: Mapping[Buffer, Buffer], passes: Sequence[Pass]) -> Problem:
        """What the first pass of a schedule that is refused says, under the names that people see."""
        recipe = ScheduleBuilder(canonical, self.scheduler.target, self.scheduler.threads, self.scheduler.pack)
        for one in passes:
            verdict = one.check(recipe.nest)
            if not verdict:
                why = in_names_of(nest, actual, verdict.why)
                return Problem("STR301", f"{renamed(one, nest, actual)}: {why}", where=nest.name)
            recipe.do(one)
        raise AssertionError(f"nothing of the schedule of {nest.name} is refused")


class _Choosing(_Calls):
    """The same, where nests get the schedules that are chosen for them, and `schedules` holds what is done by hand."""

    def __init__(self, scheduler: Scheduler, edits: Schedules) -> None:
        super().__init__(scheduler, edits)
        self.chosen: dict[str, tuple[Pass, ...]] = {}

    def passes_of(self, nest: Nest, canonical: Nest, actual: Mapping[Buffer, Buffer]) -> tuple[Pass, ...]:
        edits = super().passes_of(nest, canonical, actual)
        replaced = any(isinstance(one, Reset) for one in edits)
        found = edits if replaced else (*self.scheduler.chosen(canonical).passes, *edits)
        self.chosen[nest.name] = all_renamed(found, nest, actual)
        return found


def _in_place_of(nest: Nest, copying: Store) -> Store:
    """A statement that packs for a numbered one of a nest, and says which nodes that computes."""
    nodes = nest.stores[copying.number].nodes if copying.number is not None else ()
    return replace(copying, nodes=nodes, number=None)


def renamed(one: Pass, nest: Nest, actual: Mapping[Buffer, Buffer]) -> Pass:
    """A pass on canonical names as a pass on the names that people see."""
    return all_renamed((one,), nest, actual)[0]


def all_renamed(passes: Sequence[Pass], nest: Nest, actual: Mapping[Buffer, Buffer]) -> tuple[Pass, ...]:
    """Several of them."""
    found: list[Pass] = []
    names: Mapping[str, str] = {}
    for one in passes:
        if isinstance(one, Pack | Prefetch | PrefetchNext):
            names = names or _packed_names(nest, actual)
            found.append(replace(one, nest=nest.name, buffer=names.get(one.buffer, one.buffer)))
        else:
            found.append(changed(one, nest=nest.name))
    return tuple(found)


def anonymised(one: Pass, nest: Nest, actual: Mapping[Buffer, Buffer]) -> Pass:
    """The other way round."""
    new = {"nest": "k"}
    if isinstance(one, Pack | Prefetch | PrefetchNext):
        names = {real: short for short, real in _packed_names(nest, actual).items()}
        new["buffer"] = names.get(one.buffer, one.buffer)
    return replace(one, **new)


def in_names_of(nest: Nest, actual: Mapping[Buffer, Buffer], text: str) -> str:
    """A sentence about a canonical nest under the names that people see."""
    names = {"k": nest.name, **_packed_names(nest, actual)}
    return _QUOTED.sub(lambda found: f"`{names.get(found[1], found[1])}`", text)


def _packed_names(nest: Nest, actual: Mapping[Buffer, Buffer]) -> dict[str, str]:
    """Canonical names of buffers and of their packed copies, and those that people see."""
    names = {b.name: real.name for b, real in actual.items()}
    return names | {f"k.{short}": f"{nest.name}:{real}" for short, real in names.items()}
