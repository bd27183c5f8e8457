"""What a change would bring: bytes and cycles before and after, by the static model. Nothing is compiled or run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from strop.core.passes import Pass
from strop.cost.model import guess
from strop.loops.calls import Call
from strop.loops.ir import Nest
from strop.loops.volume import volume
from strop.schedule.program import Program
from strop.target.description import Target


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

    @property
    def told(self) -> str:
        moved = f"{self.before.bytes / 1e6:.2f} → {self.after.bytes / 1e6:.2f} MB"
        taken = f"{self.before.cycles / 1e3:,.0f} → {self.after.cycles / 1e3:,.0f} thousand cycles"
        return f"{moved}, {taken}, {len(self.changed)} nests changed"

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

    def program(self, program: Program, other: Mapping[str, Nest] | None = None) -> Moved:
        """Everything that a planned program computes at every call; some calls with `other` nests."""
        calls = [step for step in program.scheduled.steps if isinstance(step, Call)]
        found = [self.nest((other or {}).get(call.name, call.nest)) for call in calls]
        return Moved(sum(one.bytes for one in found), sum(one.cycles for one in found))

    def preview(self, before: Program, after: Program, passes: tuple[Pass, ...]) -> Preview:
        """Two planned programs side by side."""
        old = {call.name: call.nest for call in before.scheduled.steps if isinstance(call, Call)}
        new = {call.name: call.nest for call in after.scheduled.steps if isinstance(call, Call)}
        changed = tuple(name for name, nest in new.items() if old.get(name) != nest)
        gone = tuple(name for name in old if name not in new)
        return Preview(passes, self.program(before), self.program(after), changed, gone)

    def rescheduled(self, before: Program, call: Call, nest: Nest, passes: tuple[Pass, ...]) -> Preview:
        """A program of which one call runs another schedule."""
        after = self.program(before, {call.name: nest})
        return Preview(passes, self.program(before), after, (call.name,) if nest != call.nest else (), ())
