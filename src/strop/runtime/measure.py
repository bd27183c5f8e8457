"""`measure`: the model's best few schedules of every distinct nest, timed where they will run.

A variant of the program takes another schedule for every nest at once; its steps are timed one by one in real calls, in
turns with the program that was chosen without running anything. So a nest finds the caches as its neighbours leave
them, and few compilations time many schedules. The nests that won go into one program, which replaces the first one
only if it is faster as a whole, again in turns, and computes the same.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import torch
from torch import Tensor

from strop.core.cache import Cache
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.passes import Pass
from strop.cost.model import estimate
from strop.driver import cache_key, pipeline
from strop.driver.artifact import Artifact
from strop.driver.artifact_format import to_bytes
from strop.driver.pipeline import Stages
from strop.frontend.torch.dtypes import DTYPES
from strop.graph.ir import Graph, Node
from strop.loops.calls import Call, canonicalise
from strop.loops.ir import Nest
from strop.loops.passes.primitives import Reset
from strop.runtime import thread_count
from strop.runtime.profile import TimedProgram
from strop.runtime.program import NativeProgram
from strop.schedule.builder import ScheduleBuilder
from strop.schedule.explain import recipe_of
from strop.schedule.mutations import made, ranked
from strop.schedule.planners import planned
from strop.schedule.scheduler import renamed
from strop.target.description import Target

CANDIDATES = 8  # schedules of a nest that are tried at most
AT_ONCE = 3  # variants that take turns with the chosen program
LARGE = 2**28  # bytes of packed weights from which only one does
WORTH = 0.98  # nests that take more than this share of the time are looked at, the heaviest first
MARGIN = 0.985  # a nest's schedule is exchanged for one that takes less than this share of its time
TURNS, FEWEST = 24, 6
FINAL_SHARE = 0.15  # of the budget, for comparing whole programs


@dataclass
class _Group:
    """Calls of one distinct nest: its schedules still to be tried, and the best so far."""

    calls: list[Call]
    source: Nest
    chosen: ScheduleBuilder | None = None
    known: set[Nest] = field(default_factory=set)
    waiting: list[tuple[Pass, ...]] = field(default_factory=list)
    best: tuple[Pass, ...] | None = None  # None: as chosen without measuring
    gain: float = 1.0

    def edits(self, passes: tuple[Pass, ...] | None) -> Iterator[Pass]:
        """A schedule for every call of the nest, in place of the planner's."""
        if passes is None:
            return
        for call in self.calls:
            _, actual = canonicalise(call.source)
            yield Reset(call.name)
            yield from (renamed(one, call.source, actual) for one in passes)


def measured(
    graph: Graph, options: Options, journal: Journal, threads: int, inspect: Callable[[Stages], None] | None = None
) -> Artifact:
    """The fastest program that measuring finds within `options.measure` seconds; remembered in the cache under a key of
    its own. `inspect` sees the stages of one that was not found there."""
    cache = Cache(journal=journal) if options.cache else None
    threads = thread_count.usable_threads(threads, journal)
    key = cache_key.cache_key(graph, pipeline.target_for(options), options, threads)
    known = pipeline.stored(cache, key) if cache is not None and not options.check else None
    if known is not None:
        journal.add("note", "measure", f"measured before: {known.about.measured}")
        pipeline.tell_memory(known, journal)
        return known
    seen: list[Stages] = []
    compiled = pipeline.compile_graph(graph, options, journal, threads, seen.append)
    with journal.step("measure"):
        search = _Search(graph, compiled, seen[0] if seen else None, options, journal, threads)
        found = search.run()
    if cache is not None:
        cache.put(key, to_bytes(found))
    if inspect is not None:
        inspect(search.stages)
    return found


class _Search:
    def __init__(
        self, graph: Graph, compiled: Artifact, stages: Stages | None, options: Options, journal: Journal, threads: int
    ) -> None:
        self.graph, self.options, self.journal, self.threads = graph, options, journal, threads
        self.target: Target = pipeline.target_for(options)
        self.base = stages or pipeline.run_stages(graph, self.target, options, journal, threads)
        self.stages = self.base
        self.static = compiled
        self.start = time.perf_counter()
        self.inputs = [_values(node) for node in graph.inputs]
        self.params = [_values(node) for node in graph.params]

    def left(self) -> float:
        return self.options.measure - (time.perf_counter() - self.start)

    def tell(self, what: str) -> None:
        done = min(1.0, max(0.0, 1.0 - self.left() / self.options.measure))
        bar = "█" * round(24 * done) + "░" * (24 - round(24 * done))
        self.journal.progress(f"measuring {bar} {done:4.0%}  {what}")

    def run(self) -> Artifact:
        final = FINAL_SHARE * self.options.measure
        groups = self._groups(final)
        while self.left() > final and (any(group.waiting for group in groups) or self._look_further(groups, final)):
            if not self._turns(groups, final):
                break
        won = [group for group in groups if group.best is not None]
        for group in won:
            said = " ".join(str(one) for one in group.edits(group.best))
            self.journal.add("choice", group.calls[0].name, f"measured {group.gain:.2f}× faster: {said}")
        if not won:
            return self._kept(self.static, "nothing faster was found", "")
        edits = [one for group in won for one in group.edits(group.best)]
        stages = self._planned(edits, self.options)
        new = pipeline.generate(stages, self.target, self.journal)
        ratio = self._compared(new)
        if ratio < 1.005:
            return self._kept(self.static, f"the measured program is no faster as a whole ({ratio:.3f}×)", "")
        self.stages = stages
        script = "\n".join(map(str, edits))
        return self._kept(new, f"{ratio:.3f}× faster, {len(won)} of {len(groups)} nests exchanged", script)

    def _kept(self, compiled: Artifact, why: str, script: str) -> Artifact:
        self.journal.add("note", "measure", why)
        return replace(compiled, about=replace(compiled.about, measured=why, edits=script))

    # ---- candidates ----

    def _groups(self, final: float) -> list[_Group]:
        """Distinct nests by the time they should take, with the schedules to try; ranking them counts as measuring."""
        found: dict[Nest, _Group] = {}
        for call in self.stages.plan.steps:
            if isinstance(call, Call) and call.passes:
                source, _ = canonicalise(call.source)
                found.setdefault(source, _Group([], source)).calls.append(call)
        cache = Cache(journal=self.journal) if self.options.cache else None
        costs = {
            source: len(group.calls) * estimate(group.calls[0].nest, self.target, self.threads, cache).cycles
            for source, group in found.items()
        }
        groups = sorted(found.values(), key=lambda group: -costs[group.source])
        total, seen = sum(costs.values()), 0.0
        for i, group in enumerate(groups):
            if seen > WORTH * total or self.left() < 2 * final + 0.3 * self.options.measure:
                return groups[:i]
            seen += costs[group.source]
            group.chosen = recipe_of(group.calls[0], self.target, self.threads, self.options.pack)
            self._rank(group)
        return groups

    def _rank(self, group: _Group) -> None:
        """The best schedules near the best so far that were not tried yet, by the model."""
        recipe = group.chosen
        if recipe is not None and group.best is not None:
            recipe = made(group.source, group.best, recipe)
        if recipe is None:
            return
        self.tell(f"ranking {group.calls[0].name}")
        group.known.add(recipe.nest)
        cache = Cache(journal=self.journal) if self.options.cache else None
        near = ranked(group.source, recipe, CANDIDATES + len(group.known), cache)
        new = [one.recipe for one in near if one.recipe.nest not in group.known][:CANDIDATES]
        group.known.update(one.nest for one in new)
        group.waiting = [tuple(one.passes) for one in new]

    def _look_further(self, groups: list[_Group], final: float) -> bool:
        """Once everything was tried and time is left: what is near the schedules that won."""
        for group in groups:
            if self.left() > 2 * final:
                self._rank(group)
        return any(group.waiting for group in groups)

    # ---- timing ----

    def _planned(self, edits: Sequence[Pass], options: Options) -> Stages:
        names = list(self.base.programs)
        before = {name: self.base.programs[name] for name in names[: names.index("schedule")]}
        program = before[names[names.index("schedule") - 1]]
        program = program.having(choices=replace(program.choices, options=options))
        return Stages({**before, **planned(program, Journal(), edits, "schedule")})

    def _turns(self, groups: list[_Group], final: float) -> bool:
        """Time the next few schedules of every nest beside the best so far; False when there is no time for more."""
        began, apart = time.perf_counter(), replace(self.options, strips=False)
        tried: list[list[tuple[Pass, ...] | None]] = [[group.best for group in groups]]
        for _ in range(AT_ONCE if self.static.packed_bytes < LARGE else 1):
            if any(group.waiting for group in groups):
                tried.append([group.waiting.pop(0) if group.waiting else group.best for group in groups])
        programs: list[tuple[Stages, TimedProgram]] = []
        for i, choice in enumerate(tried):
            self.tell(f"compiling {i + 1} of {len(tried)}")
            edits = [one for group, passes in zip(groups, choice) for one in group.edits(passes)]
            stages = self._planned(edits, apart)
            timed = TimedProgram(pipeline.generate(stages, self.target, Journal(), separate=True), self.options)
            timed.bind(self.params)
            programs.append((stages, timed))
        wanted = programs[0][1](self.inputs)
        right = [i for i, (_, timed) in enumerate(programs) if _same(wanted, timed(self.inputs))]
        for i, (_, timed) in enumerate(programs):
            if i in right:
                timed(self.inputs)
                timed.forget()
        turns = 0
        while turns < FEWEST or (turns < TURNS and self.left() > final):
            self.tell(f"turn {turns + 1} of {TURNS}")
            for i in right:
                programs[i][1](self.inputs)
            turns += 1
        taken_by = {i: _quartiles(*programs[i]) for i in right}
        for at, group in enumerate(groups):
            taken = {i: sum(taken_by[i][call.name] for call in group.calls) for i in right}
            best = min(taken, key=lambda i: taken[i])
            if best and taken[best] < MARGIN * taken[0]:
                group.best = tried[best][at]
                group.gain *= taken[0] / taken[best]
        return self.left() > final + (time.perf_counter() - began)

    def _compared(self, new: Artifact) -> float:
        """How many times faster the new program is as a whole; 0 where it does not compute the same."""
        programs = [NativeProgram(one, self.options) for one in (self.static, new)]
        results = []
        for program in programs:
            program.bind(self.params)
            results.append(program(self.inputs))
        if not _same(*results):
            return 0.0
        taken: list[list[float]] = [[], []]
        ends = time.perf_counter() + max(1.0, self.left())
        while len(taken[0]) < FEWEST or time.perf_counter() < ends:
            self.tell("comparing whole programs")
            for i, program in enumerate(programs):
                start = time.perf_counter()
                program(self.inputs)
                taken[i].append(time.perf_counter() - start)
        return float(statistics.median(a / b for a, b in zip(*taken)))


def _quartiles(stages: Stages, timed: TimedProgram) -> dict[str, float]:
    names = [step.name for step in stages.plan.steps]
    return {name: statistics.quantiles(taken, n=4)[0] for name, taken in zip(names, timed.nanoseconds)}


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
