"""Where the time of a program goes: every nest as an entry of its own, timed in order in real runs.

The timed program does what the real one does, on the same arena and in the same order, so that each nest finds the
caches as its predecessors left them. What calling an entry costs (about a microsecond) is measured and taken off.
A program of one thread is timed by that thread's own clock, which stands still while others have the core.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from strop.core.options import Options
from strop.draw.notebook import bars_html
from strop.driver.artifact import Artifact, NativeStep
from strop.driver.pipeline import IDLE
from strop.loops.calls import Call
from strop.loops.lowered import LibraryCall
from strop.loops.volume import flop, volume
from strop.runtime.program import NativeProgram
from strop.runtime.step_program import StepProgram
from strop.schedule.program import Plan
from strop.schedule.window_chain import InterleavedCalls

_WARM_UP = 3
_IDLE_CALLS = 200
_SHOWN = 25  # steps that a notebook shows


@dataclass(frozen=True)
class ProfileRow:
    """One step of the program: its median time, and what it computes and moves in that time."""

    name: str
    what: str
    where: str
    microseconds: float
    share: float
    flop: int  # of contractions: twice the multiply-adds
    bytes_read: int
    bytes_written: int

    @property
    def gflops(self) -> float | None:
        return self.flop / self.microseconds / 1e3 if self.flop and self.microseconds else None

    @property
    def gigabytes(self) -> float | None:
        """GB/s, read and written."""
        moved = self.bytes_read + self.bytes_written
        return moved / self.microseconds / 1e3 if moved and self.microseconds else None

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "gflop_per_second": self.gflops, "gigabytes_per_second": self.gigabytes}


@dataclass(frozen=True)
class Profile:
    """Steps in program order; `whole` is the median of uninterrupted calls of the real program, in microseconds."""

    rows: tuple[ProfileRow, ...]
    whole: float
    rounds: int

    @property
    def total(self) -> float:
        """The sum over the steps; near `whole` unless steps run faster together than apart."""
        return sum(row.microseconds for row in self.rows)

    @property
    def slowest(self) -> list[ProfileRow]:
        return sorted(self.rows, key=lambda row: -row.microseconds)

    def table(self, limit: int | None = None) -> str:
        """The slowest steps (all of them unless limited) in columns, then the rest and the sum."""
        shown = self.slowest[:limit]
        lines = [_TITLES, *(_line(row) for row in shown)]
        if len(shown) < len(self.rows):
            rest = self.total - sum(row.microseconds for row in shown)
            share = rest / (self.total or 1.0)
            lines.append(f"{rest:9.1f} {share:6.1%}{'':28}{len(self.rows) - len(shown)} more")
        lines.append(f"sum {self.total / 1e3:.3f} ms, one uninterrupted call {self.whole / 1e3:.3f} ms")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        """The slowest steps as a notebook shows them."""
        rows = [(row.name, row.what, row.microseconds) for row in self.slowest[:_SHOWN]]
        rest = len(self.rows) - len(rows)
        said = f"one uninterrupted call {self.whole / 1e3:.3f} ms, medians of {self.rounds} runs"
        return bars_html("where the time goes", f"{said}; {rest} more steps" if rest else said, rows, "µs")

    def to_json(self) -> dict[str, Any]:
        return {
            "whole_us": self.whole,
            "total_us": self.total,
            "rounds": self.rounds,
            "steps": [row.to_json() for row in self.rows],
        }


_TITLES = f"{'µs':>9} {'share':>6} {'GFLOP/s':>8} {'moved':>9} {'GB/s':>6}   {'nest':<28} {'what':<20} where"


def _line(row: ProfileRow) -> str:
    speed = f"{row.gflops:.1f}" if row.gflops else ""
    rate = f"{row.gigabytes:.1f}" if row.gigabytes else ""
    moved = f"{(row.bytes_read + row.bytes_written) / 1e6:.2f} MB"
    numbers = f"{row.microseconds:9.1f} {row.share:6.1%} {speed:>8} {moved:>9} {rate:>6}"
    return f"{numbers}   {row.name:<28} {row.what:<20} {row.where}".rstrip()


class TimedProgram(NativeProgram):
    """A program that notes how long each of its steps takes."""

    def __init__(
        self,
        compiled: Artifact,
        options: Options,
        direct: Callable[[], NativeProgram] | None = None,
    ) -> None:
        super().__init__(compiled, options, direct)
        self._only = None
        self.clock = time.thread_time_ns if compiled.threads == 1 else time.perf_counter_ns
        self.nanoseconds: list[list[int]] = [[] for _ in compiled.steps]
        self.idle: list[int] = []
        self._steps = [self._timed(self._step(s), taken) for s, taken in zip(compiled.steps, self.nanoseconds)]
        self._steps += [self._timed(self._step(NativeStep(IDLE)), self.idle)] * _IDLE_CALLS

    def _timed(self, step: Callable[..., None], taken: list[int]) -> Callable[..., None]:
        clock = self.clock

        def timed(*arguments: Any) -> None:
            start = clock()
            step(*arguments)
            taken.append(clock() - start)

        return timed

    def forget(self) -> None:
        for taken in (self.idle, *self.nanoseconds):
            taken.clear()


class TimedStepProgram(StepProgram, TimedProgram):
    """Half of a training step that notes how long each of its steps takes."""


def profile(
    planned: Plan,
    timed: TimedProgram,
    real: NativeProgram,
    inputs: Sequence[torch.Tensor],
    rounds: int,
    checkpoint: Callable[[], None] = lambda: None,
) -> Profile:
    """Run both programs in turns; both are bound to their parameters already. `checkpoint` is called between rounds."""
    whole: list[int] = []
    with torch.no_grad():
        for number in range(rounds + _WARM_UP):
            checkpoint()
            if number == _WARM_UP:
                timed.forget()
            timed(inputs)
            real(inputs)  # finds its own caches warm, as in a loop of calls
            start = timed.clock()
            real(inputs)
            if number >= _WARM_UP:
                whole.append(timed.clock() - start)
    idle = statistics.median(timed.idle)
    medians = [max(statistics.median(taken) - idle, 0.0) / 1e3 for taken in timed.nanoseconds]
    total = sum(medians) or 1.0
    rows = [_row(step, planned, taken, taken / total) for step, taken in zip(planned.sequence, medians)]
    return Profile(tuple(rows), statistics.median(whole) / 1e3, rounds)


def _row(step: Call | LibraryCall | InterleavedCalls, planned: Plan, microseconds: float, share: float) -> ProfileRow:
    if isinstance(step, InterleavedCalls):
        rows = [_row(call, planned, microseconds, share) for call in step.calls]
        work = [sum(each) for each in zip(*((row.flop, row.bytes_read, row.bytes_written) for row in rows))]
        return ProfileRow(step.name, f"{len(rows)} nests in strips", rows[0].where, microseconds, share, *work)
    if isinstance(step, LibraryCall):
        read, written = sum(b.bytes for b in step.inputs), sum(b.bytes for b in step.outputs)
        where = str(step.node.origin)
        return ProfileRow(step.name, f"library: {step.target}", where, microseconds, share, 0, read, written)
    whole = sum(isinstance(other, Call) and other.source is step.source for other in planned.steps) == 1
    nest = step.source if whole else step.nest
    read, written = volume(nest)
    origin = step.source.origin
    return ProfileRow(step.name, step.source.note, str(origin), microseconds, share, flop(nest), read, written)
