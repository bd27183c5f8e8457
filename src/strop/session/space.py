"""What could be done to a program: which passes apply where, what each would change, and why others are refused.

Bytes and cycles are predicted by the static model; nothing is compiled or run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from strop.core.passes import Level, Pass, Verdict
from strop.cost.model import guess
from strop.loops.calls import Call
from strop.loops.ir import Nest
from strop.loops.lowered import LibraryCall, Lowered
from strop.loops.passes.fusion import Epilogue, Inline, ScaleWeights, ShareLoops, Steps
from strop.loops.passes.layouts import reads, writes
from strop.loops.volume import volume
from strop.schedule.constraints import Constraints
from strop.schedule.program import Program
from strop.schedule.sliding_window import Interleaving


@dataclass(frozen=True)
class Moved:
    """What a program moves and how long it should take, library calls not counted."""

    bytes: int
    cycles: float


@dataclass(frozen=True)
class Preview:
    """A program before and after some passes, as the static model sees both."""

    passes: tuple[Pass, ...]
    before: Moved
    after: Moved
    changed: tuple[str, ...]  # nests that are new or computed otherwise
    gone: tuple[str, ...]  # nests that are there no more

    def __str__(self) -> str:
        moved = f"{self.before.bytes / 1e6:.2f} → {self.after.bytes / 1e6:.2f} MB"
        taken = f"{self.before.cycles / 1e3:,.0f} → {self.after.cycles / 1e3:,.0f} thousand cycles"
        return f"{' '.join(map(str, self.passes))}: {moved}, {taken}, {len(self.changed)} nests changed"


@dataclass(frozen=True)
class Possibility:
    """A pass that could be applied, or why it could not; with what it would change where that was asked for."""

    change: Pass
    verdict: Verdict
    preview: Preview | None = None

    def __str__(self) -> str:
        if not self.verdict:
            return f"{self.change}: no, {self.verdict.why}"
        return str(self.preview) if self.preview is not None else str(self.change)


def moved(program: Program) -> Moved:
    """Bytes and cycles of everything that a planned program computes at every call; equal nests are looked at once."""
    known: dict[Nest, tuple[int, float]] = {}
    total, cycles = 0, 0.0
    for call in program.scheduled.steps:
        if isinstance(call, Call):
            if call.nest not in known:
                taken = guess(call.nest, program.target, program.threads).cycles
                known[call.nest] = (sum(volume(call.nest)), taken)
            total += known[call.nest][0]
            cycles += known[call.nest][1]
    return Moved(total, cycles)


def preview(before: Program, after: Program, passes: Sequence[Pass]) -> Preview:
    """Two planned programs side by side."""
    old = {call.name: call.nest for call in before.scheduled.steps if isinstance(call, Call)}
    new = {call.name: call.nest for call in after.scheduled.steps if isinstance(call, Call)}
    changed = tuple(name for name, nest in new.items() if old.get(name) != nest)
    gone = tuple(name for name in old if name not in new)
    return Preview(tuple(passes), moved(before), moved(after), changed, gone)


def possibilities(stages: dict[str, Program], levels: Sequence[Level], at: str = "") -> Iterator[Possibility]:
    """Passes of these levels that may come next at the stage where passes by hand of their level come, and fusions
    that may not; with `at`, only those that name this node, nest or tensor."""
    for level in levels:
        ir = _ir(stages, level)
        for kind in (kind for kind in Pass.registry.values() if kind.level == level and ir is not None):
            for one in kind.space(ir):
                if not at or names(one, at):
                    yield Possibility(one, Verdict(True))
        if level == "nests":
            yield from (Possibility(*found) for found in refused_fusions(stages["fuse"].nests, at))


def _ir(stages: dict[str, Program], level: Level) -> object:
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


def fusions(a: str, b: str) -> tuple[Epilogue | Inline | ScaleWeights | ShareLoops, ...]:
    """The passes that could make one nest of two, of which the second reads what the first writes."""
    return Epilogue(b, a), Inline(a), ScaleWeights(a, b), ShareLoops(b, a)
