"""Compiling for another machine: everything but running it, and what it should take there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strop.core.cache import Cache
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.cost.model import Cost, estimate
from strop.driver import pipeline
from strop.driver.pipeline import Stages
from strop.loops.calls import Call
from strop.runtime import compile_model
from strop.runtime.specializations import RunnableProgram, Specialization
from strop.schedule.explain import what_holds
from strop.target import host
from strop.target.description import Target

if TYPE_CHECKING:
    from strop.graph.ir import Graph


@dataclass(frozen=True)
class CrossCompiled:
    """A program as it would be on a machine that is not at hand."""

    target: Target
    threads: int
    stages: Stages
    costs: Mapping[str, Cost]

    @property
    def milliseconds(self) -> float:
        return sum(cost.microseconds for cost in self.costs.values()) / 1e3

    def summary(self) -> dict[str, Any]:
        plan = self.stages.plan
        return {
            "target": f"{self.target.name}: nothing was run",
            "nodes": len(self.stages.graph.nodes),
            "nests": len(self.costs),
            "threads": self.threads,
            "arena_bytes": plan.arena.bytes,
            "packed_bytes": plan.packed_bytes,
            "estimate": f"{self.milliseconds:.3f} ms a call, library nodes not counted",
        }

    def explain(self) -> str:
        steps = [(call.name, call.nest) for call in self.stages.plan.steps if isinstance(call, Call)]
        return what_holds(steps, self.target, self.threads)


def is_foreign(options: Options) -> bool:
    """Whether the options name a machine whose code can't be expected to run here."""
    if not options.target:
        return False
    return not pipeline.target_for(options).runs_on(host.described_host())


def cross_compile(
    model: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None, options: Options, journal: Journal
) -> CrossCompiled:
    """Plan a model for the machine that the options name, and estimate it there."""
    target, threads = pipeline.target_for(options), options.threads or 1
    traced = compile_model.default_trace(model, tuple(args), dict(kwargs or {}))
    stages = pipeline.run_stages(Specialization(traced, _nothing).graph, target, options, journal, threads)
    cache = Cache(journal=journal) if options.cache else None
    known: dict[Any, Cost] = {}
    costs = {}
    for call in stages.plan.steps:
        if isinstance(call, Call):
            if call.nest not in known:
                known[call.nest] = estimate(call.nest, target, threads, cache)
            costs[call.name] = known[call.nest]
    return CrossCompiled(target, threads, stages, costs)


def _nothing(graph: Graph, threads: int) -> RunnableProgram:
    raise Problem("STR402", "code for another machine can't be run here")
