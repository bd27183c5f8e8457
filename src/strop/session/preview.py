"""What a change would bring: bytes and cycles before and after, by the static model. Nothing is compiled or run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from strop.core.json_data import JsonData
from strop.core.passes import Pass
from strop.cost.model import guess
from strop.cost.operators import cycles
from strop.loops.calls import Call
from strop.loops.ir import Nest
from strop.loops.lowered import LibraryCall
from strop.loops.passes.layouts import BORDER_COPY
from strop.loops.volume import volume
from strop.schedule.program import Program, as_nest
from strop.session.views import NestDiff
from strop.target.description import Target


@dataclass(frozen=True)
class Moved(JsonData):
    """What a program moves and how long it should take; a library call moves what it reads and writes."""

    bytes: int
    cycles: float


@dataclass(frozen=True)
class LayoutCopy(JsonData):
    """A step that computes nothing: it copies a tensor into another layout, or into the order in which it is read."""

    step: str
    tensor: str
    bytes: int
    cycles: float


@dataclass(frozen=True)
class Preview(JsonData):
    """A program before and after some passes, as the static model sees both."""

    passes: tuple[Pass, ...]
    before: Moved
    after: Moved
    changed: tuple[str, ...]  # nests that are new or computed otherwise
    gone: tuple[str, ...]  # nests that are there no more
    conversions_before: tuple[LayoutCopy, ...] = ()
    conversions: tuple[LayoutCopy, ...] = ()  # after
    old: Mapping[str, Call] = field(default_factory=dict, compare=False, repr=False)
    new: Mapping[str, Call | Nest] = field(default_factory=dict, compare=False, repr=False)

    @property
    def diffs(self) -> tuple[NestDiff, ...]:
        """The text of every nest that changes, before and after."""
        found = []
        for name in (*self.changed, *self.gone):
            before = str(as_nest(self.old[name])) if name in self.old else ""
            after = self.new.get(name)
            nest = as_nest(after) if isinstance(after, Call) else after
            found.append(NestDiff(name, before, str(nest) if nest is not None else ""))
        return tuple(found)

    @property
    def told(self) -> str:
        moved = f"{self.before.bytes / 1e6:.2f} → {self.after.bytes / 1e6:.2f} MB"
        taken = f"{self.before.cycles / 1e3:,.0f} → {self.after.cycles / 1e3:,.0f} thousand cycles"
        return f"{moved}, {taken}, {len(self.changed)} {'nest' if len(self.changed) == 1 else 'nests'} changed"

    derived = ("told", "diffs")

    def __str__(self) -> str:
        return f"{' '.join(map(str, self.passes))}: {self.told}"


class Prices:
    """Bytes and cycles of scheduled nests on one machine, each predicted once."""

    def __init__(self, target: Target, threads: int) -> None:
        self.target, self.threads = target, threads
        self._known: dict[Nest, Moved] = {}

    def nest(self, nest: Nest) -> Moved:
        if nest not in self._known:
            self._known[nest] = Moved(sum(volume(nest)), guess(nest, self.target, self.threads).cycles)
        return self._known[nest]

    def library(self, call: LibraryCall) -> Moved:
        """By its operator alone, which is rougher still."""
        moved = sum(b.bytes for b in (*call.inputs, *call.outputs))
        return Moved(moved, cycles(call.node, self.target, self.target.bandwidth[2]))

    def program(self, program: Program, other: Mapping[str, Nest] | None = None) -> Moved:
        """Everything that a planned program does at every call; some calls with `other` nests."""
        found = [
            self.nest((other or {}).get(step.name, step.nest)) if isinstance(step, Call) else self.library(step)
            for step in program.every_call
        ]
        return Moved(sum(one.bytes for one in found), sum(one.cycles for one in found))

    def microseconds(self, moved: Moved) -> float:
        return moved.cycles / self.target.ghz / 1e3

    def preview(self, before: Program, after: Program, passes: tuple[Pass, ...]) -> Preview:
        """Two planned programs side by side."""
        old = {call.name: call for call in before.every_call if isinstance(call, Call)}
        new = {call.name: call for call in after.every_call if isinstance(call, Call)}
        changed = tuple(name for name, call in new.items() if name not in old or old[name].nest != call.nest)
        gone = tuple(name for name in old if name not in new)
        shown = {name: new[name] for name in changed}
        copies = self._conversions(before), self._conversions(after)
        return Preview(passes, self.program(before), self.program(after), changed, gone, *copies, old, shown)

    def rescheduled(self, before: Program, call: Call, nest: Nest, passes: tuple[Pass, ...]) -> Preview:
        """A program of which one call runs another schedule."""
        after = self.program(before, {call.name: nest})
        old = {one.name: one for one in before.every_call if isinstance(one, Call)}
        changed = (call.name,) if nest != call.nest else ()
        copies = self._conversions(before)
        return Preview(passes, self.program(before), after, changed, (), copies, copies, old, {call.name: nest})

    def _conversions(self, program: Program) -> tuple[LayoutCopy, ...]:
        found = []
        for call in program.every_call:
            if isinstance(call, Call) and (call.source.note == BORDER_COPY or call.source.note.startswith("pack ")):
                moved = self.nest(call.nest)
                found.append(LayoutCopy(call.name, call.written[0].name, moved.bytes, moved.cycles))
        return tuple(found)
