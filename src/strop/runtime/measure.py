"""Timing schedules where they will run: variants of a program, whose steps are timed one by one in real calls, in turns
with the program as it is. So a nest finds the caches as its neighbours leave them, what disturbs the machine disturbs
all variants alike, and one compilation times a schedule of every nest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

import torch
from torch import Tensor

from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.passes import Pass
from strop.driver import pipeline
from strop.driver.pipeline import Stages
from strop.frontend.torch.dtypes import DTYPES
from strop.graph.ir import Graph, Node
from strop.runtime.profile import TimedProgram
from strop.runtime.program import NativeProgram
from strop.schedule.planners import planned
from strop.target.description import Target

LARGE = 2**28  # bytes of packed weights from which variants are timed one at a time
_WARM_UP = 2


@dataclass(frozen=True)
class StepTimes:
    """Nanoseconds of every step by its name, turn by turn; None where the variant does not compute the same."""

    nanoseconds: dict[str, list[int]] | None


class ProgramVariants:
    """A program without passes by hand, and what it takes with some."""

    def __init__(self, graph: Graph, stages: Stages, target: Target, options: Options) -> None:
        self.stages, self.target, self.options = stages, target, options
        self.inputs = [_values(node) for node in graph.inputs]
        self.params = [_values(node) for node in graph.params]

    @property
    def at_once(self) -> int:
        """Variants that can take turns: each holds its own packed weights."""
        return 1 if self.stages.plan.packed_bytes >= LARGE else 3

    def step_times(
        self, variants: Sequence[Sequence[Pass]], turns: int, stop: Callable[[], bool]
    ) -> tuple[StepTimes, ...]:
        """The steps of the program as it is, then of each variant: `turns` times, or fewer where `stop` says so."""
        apart = replace(self.options, strips=False)
        programs = []
        for edits in ((), *variants):
            stages = self._planned(edits, apart)
            timed = TimedProgram(pipeline.generate(stages, self.target, Journal(), separate=True), self.options)
            timed.bind(self.params)
            programs.append((stages, timed))
        wanted = programs[0][1](self.inputs)
        right = [_same(wanted, timed(self.inputs)) for _, timed in programs]
        running = [timed for (_, timed), same in zip(programs, right) if same]
        for turn in range(turns + _WARM_UP):
            for timed in running:
                if turn == _WARM_UP:
                    timed.forget()
                timed(self.inputs)
            if turn >= _WARM_UP and stop():
                break
        return tuple(
            StepTimes(dict(zip((step.name for step in stages.plan.steps), timed.nanoseconds)) if same else None)
            for (stages, timed), same in zip(programs, right)
        )

    def whole_ratios(self, edits: Sequence[Pass], turns: int, stop: Callable[[], bool]) -> list[float]:
        """The time of the whole program with some passes over that of the program as it is, turn by turn; none where
        it does not compute the same."""
        programs = []
        for passes in ((), edits):
            stages = self._planned(passes, self.options)
            program = NativeProgram(pipeline.generate(stages, self.target, Journal()), self.options)
            program.bind(self.params)
            programs.append(program)
        if not _same(*(program(self.inputs) for program in programs)):
            return []
        ratios: list[float] = []
        for turn in range(turns + _WARM_UP):
            taken = []
            for program in programs:
                start = time.perf_counter_ns()
                program(self.inputs)
                taken.append(time.perf_counter_ns() - start)
            if turn >= _WARM_UP:
                ratios.append(taken[1] / taken[0])
                if stop():
                    break
        return ratios

    def _planned(self, edits: Sequence[Pass], options: Options) -> Stages:
        names = list(self.stages.programs)
        before = {name: self.stages.programs[name] for name in names[: names.index("schedule")]}
        program = before[names[names.index("schedule") - 1]]
        program = program.having(choices=replace(program.choices, options=options))
        return Stages({**before, **planned(program, Journal(), edits, "schedule")})


def _same(wanted: Sequence[Tensor], got: Sequence[Tensor]) -> bool:
    """Equal up to rounding, each against its own scale; where one is not finite, neither is the other."""
    for a, b in zip(wanted, got):
        a, b = a.double(), b.double()
        finite = torch.isfinite(a)
        if not torch.equal(finite, torch.isfinite(b)):
            return False
        if finite.any() and (a - b)[finite].abs().max() > 1e-3 * max(1e-6, float(a[finite].abs().max())):
            return False
    return True


def _values(node: Node) -> Tensor:
    """Numbers that keep a network within bounds; indices are 0, which is always one."""
    dtype, shape = DTYPES[node.dtype], node.shape
    if not dtype.is_floating_point:
        return torch.zeros(shape, dtype=dtype)
    generator = torch.Generator().manual_seed(prod(shape) + len(shape))
    if node.op == "param" and len(shape) < 2:
        return torch.rand(shape, generator=generator).add_(0.5).to(dtype)
    scale = 1.0 if node.op == "input" else prod(shape[1:]) ** -0.5
    return torch.randn(shape, generator=generator).mul_(scale).to(dtype)
