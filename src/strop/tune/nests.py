"""The nests of models that can be tuned: each distinct one once, with what it costs the models that it is in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.passes import Pass
from strop.cost.model import guess
from strop.driver import pipeline
from strop.driver.pipeline import Stages
from strop.graph.ir import Graph
from strop.loops.calls import Call, canonicalise
from strop.loops.passes.primitives import Reset
from strop.runtime import compile_model
from strop.runtime.cross_compile import is_foreign
from strop.runtime.program import build
from strop.runtime.specializations import Specialization
from strop.schedule.scheduler import renamed
from strop.schedule.tuned import Passes
from strop.target.description import Target
from strop.tune.search import TunedNest

if TYPE_CHECKING:
    from strop.runtime.load_model import Model


@dataclass(frozen=True)
class TunedProgram:
    """A graph that some model is compiled to, planned with default schedules."""

    model: str
    graph: Graph
    options: Options
    target: Target
    threads: int
    stages: Stages = field(compare=False, repr=False)

    @property
    def calls(self) -> list[Call]:
        return [call for call in self.stages.plan.steps if isinstance(call, Call)]


@dataclass
class NestGroup:
    """All calls of one distinct nest, and cycles that they take together by the guess."""

    tuned: TunedNest
    places: list[tuple[TunedProgram, Call]] = field(default_factory=list)
    weight: float = 0.0

    @property
    def name(self) -> str:
        first = f"{self.places[0][0].model}/{self.places[0][1].name}"
        return first if len(self.places) == 1 else f"{first} and {len(self.places) - 1} more"

    def calls_in(self, program: TunedProgram) -> list[Call]:
        return [call for one, call in self.places if one is program]

    def edits(self, program: TunedProgram, passes: Passes) -> Iterator[Pass]:
        """A schedule for every call of the nest in a program, in place of the default one."""
        for call in self.calls_in(program):
            _, actual = canonicalise(call.source)
            yield Reset(call.name)
            yield from (renamed(one, call.source, actual) for one in passes)


def programs_of(model: Model, options: Options, journal: Journal) -> list[TunedProgram]:
    """The programs that compiling a model makes. For another machine they are planned and not compiled."""
    options, target = replace(options, tuned=False), pipeline.target_for(options)
    found: list[tuple[Graph, Options, int]] = []
    if is_foreign(options):
        traced = compile_model.default_trace(model.module, tuple(model.inputs), dict(model.kwargs))
        found.append((Specialization(traced, _not_here).graph, options, options.threads or 1))
    else:

        def recorded(graph: Graph, options: Options, journal: Journal, threads: int) -> Any:
            program = build(graph, options, journal, threads)
            found.append((graph, options, program.compiled.threads))
            return program

        compile_model.compile(
            model.module, model.inputs, model.kwargs, options=options, journal=journal, build=recorded
        )
    return [
        TunedProgram(
            model.name, graph, given, target, threads, pipeline.run_stages(graph, target, given, Journal(), threads)
        )
        for graph, given, threads in found
    ]


def _not_here(graph: Graph, threads: int) -> Any:
    raise AssertionError("a program for another machine is not built")


def nest_groups(programs: Sequence[TunedProgram]) -> list[NestGroup]:
    """The distinct nests of some programs, the most expensive first."""
    found: dict[TunedNest, NestGroup] = {}
    for program in programs:
        for call in program.calls:
            if not call.passes:
                continue
            source, _ = canonicalise(call.source)
            tuned = TunedNest(source, program.target, program.threads, program.options.pack)
            group = found.setdefault(tuned, NestGroup(tuned))
            group.places.append((program, call))
            group.weight += guess(call.nest, program.target, program.threads).cycles
    return sorted(found.values(), key=lambda group: -group.weight)
