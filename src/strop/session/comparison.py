"""Two programs of one model side by side: bytes, time, nests and machine code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from strop.core.json_data import JsonData
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.driver import pipeline
from strop.loops.calls import Call
from strop.schedule.program import as_nest
from strop.session.views import NestDiff
from strop.target.description import Target


@dataclass(frozen=True)
class ComparedSide(JsonData):
    """One of them."""

    branch: str
    edits: tuple[Pass, ...]
    bytes: int
    predicted_us: float
    measured_us: float | None  # of a whole call, where it was measured
    arena_bytes: int
    digest: str  # of its object code


@dataclass(frozen=True)
class Comparison(JsonData):
    """Both, and the nests that are not the same."""

    a: ComparedSide
    b: ComparedSide
    changed: tuple[NestDiff, ...]
    calls_a: Mapping[str, Call] = field(compare=False, repr=False)
    calls_b: Mapping[str, Call] = field(compare=False, repr=False)
    target: Target = field(compare=False, repr=False)

    @property
    def told(self) -> str:
        """One line for people."""
        a, b = self.a, self.b
        moved = f"{a.bytes / 1e6:.2f} → {b.bytes / 1e6:.2f} MB"
        taken = f"{a.predicted_us:,.0f} → {b.predicted_us:,.0f} µs predicted"
        measured = ""
        if a.measured_us is not None and b.measured_us is not None:
            measured = f", {a.measured_us:,.0f} → {b.measured_us:,.0f} µs measured"
        return f"{a.branch} → {b.branch}: {moved}, {taken}{measured}, {len(self.changed)} nests differ"

    derived = ("told",)

    def assembly(self, nest: str) -> tuple[str, str]:
        """The machine code of a nest in both; empty where there is no such nest."""
        if nest not in self.calls_a and nest not in self.calls_b:
            raise Problem("STR304", f"there is no nest `{nest}`", help=f"there are: {', '.join(self.calls_a)}")
        calls = self.calls_a.get(nest), self.calls_b.get(nest)
        a, b = (pipeline.assembly(call.nest, self.target) if call is not None else "" for call in calls)
        return a, b

    def __str__(self) -> str:
        return self.told


def diffs(a: Mapping[str, Call], b: Mapping[str, Call]) -> tuple[NestDiff, ...]:
    """The nests that two programs do not have alike, in the order of the first."""
    found = []
    for name in dict.fromkeys((*a, *b)):
        if name not in a or name not in b or a[name].nest != b[name].nest:
            found.append(NestDiff(name, *(str(as_nest(side[name])) if name in side else "" for side in (a, b))))
    return tuple(found)
