"""What could be done to a program: which passes apply where, what each would change, and why others are refused.

A pass lists its useful instances by `space`. For the loops of a nest these are passes that may follow those of its
schedule, and schedules near it: the same passes with another number, in another order, or one of them left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial

from strop.core.passes import Level, Pass, Verdict, no, yes
from strop.core.problem import Problem
from strop.loops.calls import Call, canonicalise
from strop.loops.ir import Nest
from strop.loops.lowered import LibraryCall, Lowered, reads, writes
from strop.loops.passes.fusion import Epilogue, FusionPass, Steps
from strop.loops.passes.loop_modes import ready
from strop.loops.passes.primitives import Reset
from strop.loops.passes.targeted import TargetedNest
from strop.schedule.constraints import Constraints
from strop.schedule.mutations import MOST_COPIES, copies, near
from strop.schedule.program import Program
from strop.schedule.scheduler import anonymised, in_names_of, renamed
from strop.schedule.sliding_window import Interleaving
from strop.session.preview import Preview, Prices
from strop.target.description import Target


@dataclass(frozen=True)
class Possibility:
    """A pass that could be applied, or why it could not.

    `session.apply(*one.passes)` does it: the pass alone or, where it comes `instead` of another one in the schedule of
    a nest, that whole schedule. What it would change is predicted when `preview` is first looked at.
    """

    change: Pass
    verdict: Verdict
    passes: tuple[Pass, ...] = ()
    instead: Pass | None = None  # where the change is a `reset`: the pass that is left out of the schedule
    price: Callable[[], Preview] | None = field(default=None, compare=False, repr=False)

    @cached_property
    def preview(self) -> Preview | None:
        """Bytes and cycles before and after; None of what is refused. A Problem where a later planner refuses it."""
        return self.price() if self.verdict and self.price is not None else None

    def __str__(self) -> str:
        what = f"{self.change} instead of {self.instead}" if self.instead is not None else str(self.change)
        if not self.verdict:
            return f"{what}: no, {self.verdict.why}"
        try:
            return f"{what}: {self.preview.told}" if self.preview is not None else what
        except Problem as problem:
            return f"{what}: no, {problem.message}"


def possibilities(stages: Mapping[str, Program], levels: Sequence[Level], at: str = "") -> Iterator[Possibility]:
    """Passes of these levels that may come next at the stage where passes by hand of their level come, and fusions
    that may not; with `at`, only those that name this node, nest or tensor."""
    for level in levels:
        ir = _ir(stages, level)
        for kind in (kind for kind in Pass.registry.values() if kind.level == level and ir is not None):
            for one in kind.space(ir):
                if not at or names(one, at):
                    yield Possibility(one, yes(), (one,))
        if level == "nests":
            yield from (Possibility(*found) for found in refused_fusions(stages["fuse"].nests, at))


def schedules(scheduled: Program, planned: Program, prices: Prices, at: str = "") -> Iterator[Possibility]:
    """What could be done to the loops of each nest that has this name; without one, of each distinct nest. A preview
    starts from the whole program as it is `planned`."""
    seen: set[Nest] = set()
    for call in scheduled.scheduled.steps:
        if isinstance(call, Call) and (call.name == at if at else call.nest not in seen):
            seen.add(call.nest)
            yield from _schedules_of(call, scheduled, planned, prices)


def _schedules_of(call: Call, program: Program, planned: Program, prices: Prices) -> Iterator[Possibility]:
    source, actual = canonicalise(call.source)
    chosen = tuple(anonymised(one, call.source, actual) for one in call.passes)
    recipe = program.scheduler.applied(source, chosen)
    here = TargetedNest(recipe.nest, program.target.lanes("f32"), program.threads)
    kinds = [kind for kind in Pass.registry.values() if kind.level == "loops"]
    found: list[tuple[Pass, tuple[Pass, ...], Pass | None]] = []
    for one in dict.fromkeys(one for kind in kinds for one in kind.space(here)):
        found.append((one, (one,), None))
    reset = Reset(source.name)
    found += [(one.new or reset, (reset, *one.passes), one.old) for one in near(source, recipe)]
    most = max(MOST_COPIES, copies(recipe.nest, program.target))
    for change, passes, instead in found:
        start = source if isinstance(passes[0], Reset) else recipe.nest
        verdict, nest = _emittable(start, passes, program.target, most)
        if not verdict:
            verdict = no(in_names_of(call.source, actual, verdict.why), call.name)
        told, *given = (renamed(one, call.source, actual) for one in (change, *passes))
        old = renamed(instead, call.source, actual) if instead is not None else None
        price = partial(prices.rescheduled, planned, call, nest, tuple(given)) if nest is not None else None
        yield Possibility(told, verdict, tuple(given), old, price)


def _emittable(nest: Nest, passes: Sequence[Pass], target: Target, most: int) -> tuple[Verdict, Nest | None]:
    """Whether a nest can be emitted after some passes, and what it is then."""
    for one in passes:
        verdict = one.check(nest)
        if not verdict:
            return verdict, None
        nest = one.apply(nest)
    if copies(nest, target) > most:
        return no(f"a statement would be written out more than {most} times: LLVM would take seconds"), None
    verdict = ready(nest)
    return verdict, nest if verdict else None


def _ir(stages: Mapping[str, Program], level: Level) -> object:
    """What passes by hand of a level are applied to; a session has no backward graph, so nothing is partitioned."""
    if level == "partition":
        return None
    if level == "graph":
        return stages["simplify"].graph
    if level == "lowering":
        return stages["choose algorithms"].choices
    if level == "constraints":
        program = stages["lower"]
        return Constraints(program.nests, program.apart, program.pinned)
    if level == "nests":
        return stages["fuse"].nests
    if level == "windows":
        program = stages["schedule"]
        return Interleaving(program.scheduled.steps, program.target, program.threads, stages["interleave"].windows)
    if level == "memory":
        return stages["place"].lifetimes
    return None


def names(one: Pass, at: str) -> bool:
    """Whether a field of a pass is this name, or holds it."""
    values = [getattr(one, f.name) for f in fields(one)]
    return any(value == at or (isinstance(value, tuple) and at in value) for value in values)


def refused_fusions(lowered: Lowered, at: str = "") -> Iterator[tuple[Pass, Verdict]]:
    """Neighbours that are not fused, and why the fusion that is nearest to being legal is not."""
    steps = Steps(lowered)
    writers = {buffer: step for step in lowered.nests for buffer in writes(step)}
    for consumer in lowered.nests:
        for producer in dict.fromkeys(writers[b] for b in reads(consumer) if b in writers):
            if producer is consumer or (at and at not in (producer.name, consumer.name)):
                continue
            verdicts = [(one, one.can(steps)) for one in fusions(producer.name, consumer.name)]
            if not any(verdict for _, verdict in verdicts):
                epilogue = next((pair for pair in verdicts if isinstance(pair[0], Epilogue)), verdicts[0])
                library = isinstance(producer, LibraryCall) or isinstance(consumer, LibraryCall)
                yield verdicts[0] if library else epilogue


def fusions(a: str, b: str) -> list[FusionPass]:
    """The passes that could make one nest of two, of which the second reads what the first writes. Epilogues come
    first: nothing is computed twice in one."""
    kinds = [kind for kind in Pass.registry.values() if issubclass(kind, FusionPass)]
    return [kind.joining(a, b) for kind in sorted(kinds, key=lambda kind: kind is not Epilogue)]
