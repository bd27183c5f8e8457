"""Measuring what a search has found, on this machine, in turns with the default schedules.

The first turns find the fastest schedule of each nest, which are not believed: the best of several is the luckiest of
them, too. Those that won are timed again, all in one program, and a nest keeps its schedule only if it is faster beyond
noise that time. At last the whole program, nests interleaved as they will be, must be no slower than the default one.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from strop.core.passes import Pass
from strop.core.tuning_database import MEASUREMENT, TuningDatabase
from strop.runtime.measure import ProgramVariants, StepTimes
from strop.schedule.tuned import Passes, parsed
from strop.tune.nests import TunedProgram
from strop.tune.tuner import NestSearch, Progress

MARGIN = 0.985  # of the default's time, below which a schedule counts as faster
MOSTLY = 0.8  # of all turns in which it has to be faster
HOPELESS = 1.15  # times the default's cycles by the estimate, from which a schedule is not timed
TURNS, CONFIRMING_TURNS, FEWEST = 20, 40, 8


@dataclass(frozen=True)
class Verdicts:
    """What measuring came to: nests with the ratio of their time, and why others keep their default schedules."""

    kept: dict[str, float]
    refused: dict[str, str]


@dataclass
class _Measured:
    search: NestSearch
    candidates: list[Passes]
    best: Passes = ()
    ratio: float = 1.0
    why: str = "no schedule of the search was worth timing"


def measure_program(
    program: TunedProgram,
    searches: Sequence[NestSearch],
    database: TuningDatabase,
    ends: float | None,
    progress: Progress,
) -> Verdicts:
    """Time the schedules that searches have found for nests of a program, and commit what is faster. Nests that another
    program has had measured in this run are left as they are."""
    known = [one for one in searches if one.record is not None and not one.measured]
    nests = [_Measured(one, _worth_timing(one)) for one in known if one.group.calls_in(program)]
    variants = ProgramVariants(program.graph, program.stages, program.target, program.options)
    work = _Measuring(program, nests, variants, ends, progress)
    work.find_fastest()
    work.confirm()
    work.check_whole()
    for one in nests:
        record = one.search.record
        assert record is not None
        passes = " ".join(map(str, one.best))
        record = replace(record, passes=passes, source=MEASUREMENT, ratio=one.ratio if passes else 1.0)
        database.put(record)
        one.search.record, one.search.measured = record, True
    return Verdicts(
        {one.search.group.name: one.ratio for one in nests if one.best},
        {one.search.group.name: one.why for one in nests if not one.best},
    )


def _numbered(one: _Measured, number: int) -> Passes:
    return one.candidates[number] if number < len(one.candidates) else ()


def _worth_timing(search: NestSearch) -> list[Passes]:
    """What was kept before, and the best schedules of the search."""
    limit = HOPELESS * search.state.default
    before = [search.record.passes] if search.record is not None and search.record.passes else []
    texts = dict.fromkeys((*before, *(one.passes for one in search.state.best if one.cycles <= limit)))
    return [passes for passes in map(parsed, texts) if passes]


@dataclass
class _Measuring:
    program: TunedProgram
    nests: list[_Measured]
    variants: ProgramVariants
    ends: float | None
    progress: Progress

    def find_fastest(self) -> None:
        """Time the schedules of all nests, the n-th of each in one program."""
        most = max((len(one.candidates) for one in self.nests), default=0)
        for first in range(0, most, self.variants.at_once):
            numbers = range(first, min(first + self.variants.at_once, most))
            if self._over() and first:
                return
            self.progress(f"measuring {self.program.model}: schedules {first + 1} to {numbers[-1] + 1} of {most}")
            edits = [self._edits(partial(_numbered, number=number)) for number in numbers]
            default, *times = self.variants.step_times(edits, TURNS, self._stop())
            for number, found in zip(numbers, times):
                for one in self.nests:
                    if number < len(one.candidates):
                        self._note(one, one.candidates[number], self._ratios(one, default, found))

    def _note(self, one: _Measured, passes: Passes, ratios: list[float]) -> None:
        ratio = statistics.median(ratios) if ratios else 1.0
        if ratio < min(MARGIN, one.ratio):
            one.best, one.ratio = passes, ratio
        elif not one.best:
            one.why = f"measured {ratio:.3f} of the default's time" if ratios else "it did not compute the same"

    def confirm(self) -> None:
        """Time what has won again."""
        if not any(one.best for one in self.nests):
            return
        self.progress(f"measuring {self.program.model}: {sum(bool(one.best) for one in self.nests)} nests once more")
        default, again = self.variants.step_times([self._edits(lambda one: one.best)], CONFIRMING_TURNS, self._stop())
        for one in self.nests:
            if not one.best:
                continue
            ratios = self._ratios(one, default, again)
            one.ratio = statistics.median(ratios) if ratios else 1.0
            faster = sum(ratio < 1.0 for ratio in ratios) >= MOSTLY * len(ratios) if ratios else False
            if one.ratio >= MARGIN or not faster:
                self._drop(one, f"measured once more {one.ratio:.3f} of the default's time: within the noise")

    def check_whole(self) -> None:
        """The whole program with what is left: where it is slower, nests that others wait for in strips go first."""
        strips = {call.name for group in self.program.stages.plan.strips.values() for call in group.calls}
        for which in (strips, None):
            if not any(one.best for one in self.nests):
                return
            ratios = self.variants.whole_ratios(self._edits(lambda one: one.best), CONFIRMING_TURNS, self._stop())
            ratio = statistics.median(ratios) if ratios else float("inf")
            if ratio <= 1.0:
                return
            for one in self.nests:
                names = {call.name for call in one.search.group.calls_in(self.program)}
                if one.best and (which is None or names & which):
                    self._drop(one, f"the whole program takes {ratio:.3f} of its time with it")

    def _drop(self, one: _Measured, why: str) -> None:
        one.best, one.ratio, one.why = (), 1.0, why

    def _edits(self, chosen: Callable[[_Measured], Passes]) -> list[Pass]:
        found = ((one, chosen(one)) for one in self.nests)
        return [each for one, passes in found if passes for each in one.search.group.edits(self.program, passes)]

    def _ratios(self, one: _Measured, default: StepTimes, other: StepTimes) -> list[float]:
        """Turn by turn, the time of all calls of a nest over that with the default schedule."""
        if default.nanoseconds is None or other.nanoseconds is None:
            return []
        names = [call.name for call in one.search.group.calls_in(self.program)]
        before, after = (
            [sum(turn) for turn in zip(*(self._with_packing(times, name) for name in names))]
            for times in (default.nanoseconds, other.nanoseconds)
        )
        return [b / a for a, b in zip(before, after) if a]

    def _with_packing(self, times: dict[str, list[int]], name: str) -> list[int]:
        """A nest with what packs its operands at every call."""
        steps = [taken for step, taken in times.items() if step == name or step.startswith(f"{name}.pack")]
        return [sum(turn) for turn in zip(*steps)]

    def _over(self) -> bool:
        return self.ends is not None and time.monotonic() >= self.ends

    def _stop(self) -> Callable[[], bool]:
        """Whether to stop after a turn: when time is up, but not before a few turns."""
        turns = 0

        def stop() -> bool:
            nonlocal turns
            turns += 1
            return turns >= FEWEST and self._over()

        return stop
