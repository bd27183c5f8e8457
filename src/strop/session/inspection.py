"""A compiled graph with its insides open: what can be seen of it at every level, without changing anything."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from strop.core.cache import Cache
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.cost.model import Cost, estimate
from strop.driver import pipeline
from strop.driver.artifact import Artifact
from strop.driver.pipeline import Stages
from strop.graph.ir import Graph
from strop.loops.calls import Call
from strop.loops.ir import Nest
from strop.loops.lowered import LibraryCall, Lowered
from strop.loops.volume import flop, volume
from strop.runtime.profile import Profile
from strop.schedule.explain import closely, what_holds
from strop.schedule.lowering import ChooseAlgorithm, kind_of
from strop.schedule.program import Plan
from strop.session.nest_code import NestCodes
from strop.session.nests import Nests, readable
from strop.session.preview import Prices
from strop.session.program_view import ProgramViews
from strop.session.provenance import Provenance
from strop.session.traffic import Transfers
from strop.session.views import (
    VIEW_LEVELS,
    AlgorithmChoice,
    Edge,
    Fusion,
    FusionEffect,
    Lifetime,
    Links,
    MemoryView,
    NestCode,
    PredictedStep,
    Prediction,
    ProgramView,
    Refusal,
    ViewLevel,
    WhyNot,
)
from strop.session.why_not import FusionAnswers
from strop.target.description import Target


class Insides:
    """What is derived from one program when somebody first looks."""

    def __init__(self, stages: Stages, edits: tuple[Pass, ...], target: Target, prices: Prices, far: Transfers) -> None:
        self.stages, self.edits, self.target, self.prices, self.transfers = stages, edits, target, prices, far
        self.effects: dict[tuple[Pass, ...], FusionEffect] = {}

    @cached_property
    def links(self) -> Provenance:
        return Provenance(self.stages)

    @cached_property
    def views(self) -> ProgramViews:
        return ProgramViews(self.stages, self.links, self.fusion, self.transfers, self.prices)

    @cached_property
    def fusion(self) -> FusionAnswers:
        return FusionAnswers(self.stages, self.links, self.edits)

    @cached_property
    def codes(self) -> NestCodes:
        return NestCodes(self.links, self.target)

    @cached_property
    def nests(self) -> Nests:
        return readable(self.stages.plan.steps)

    @cached_property
    def preparation(self) -> Nests:
        return readable(self.stages.plan.prepare)


class Inspection:
    """Looking at one compiled graph. Who derives from it says which stages the program went through (`stages`), what
    runs (`compiled`), and what was measured of it last (`measured`)."""

    options: Options
    journal: Journal

    @property
    def compiled(self) -> Artifact:
        raise NotImplementedError

    @property
    def stages(self) -> Stages:
        raise NotImplementedError

    @property
    def _insides(self) -> Insides:
        raise NotImplementedError

    @property
    def measured(self) -> Profile | None:
        raise NotImplementedError

    @property
    def target(self) -> Target:
        """The machine that the program is for."""
        return pipeline.target_for(self.options)

    # ---- stages ----

    @property
    def graph(self) -> Graph:
        """The operator graph after the rewrites."""
        return self.stages.graph

    @property
    def lowered(self) -> Lowered:
        """Nests after fusion, before layouts and schedules."""
        return self.stages.lowered

    @property
    def plan(self) -> Plan:
        """Scheduled calls over buffers with known places."""
        return self.stages.plan

    @property
    def nests(self) -> Nests:
        """What runs at every call, scheduled, under the names of the model."""
        return self._insides.nests

    @property
    def preparation(self) -> Nests:
        """What runs when parameters change: folding and packing of weights."""
        return self._insides.preparation

    @property
    def history(self) -> tuple[Pass, ...]:
        """Every pass since the captured graph: replaying them makes the same code."""
        return self.stages.program.history

    @property
    def digest(self) -> str:
        """Of the object code: equal programs have equal ones."""
        return pipeline.code_digest(self.compiled)

    # ---- graphs ----

    @property
    def levels(self) -> tuple[ViewLevel, ...]:
        """What `view` and `edges` can show."""
        return VIEW_LEVELS

    def view(self, level: ViewLevel = "plan") -> ProgramView:
        """The program at a level as a graph: nodes with what they compute and move, and edges."""
        return self._insides.views.view(level)

    def edges(self, level: ViewLevel = "plan") -> tuple[Edge, ...]:
        """Who reads what of whom at a level, with bytes by the memory that they come from."""
        return self.view(level).edges

    def fusions(self) -> tuple[Fusion, ...]:
        """The nests that became one, in the order in which that happened."""
        return self._insides.fusion.fusions

    def refusals(self) -> tuple[Refusal, ...]:
        """The fusions that the planner considered and left."""
        return self._insides.fusion.refusals

    def why_not(self, a: str, b: str) -> WhyNot:
        """Why two neighbours (nodes, nests, or steps of the plan) are not one nest, what that would need, and the pass
        that would make one of them where there is one. Also says where they are one."""
        return self._insides.fusion.why_not(a, b)

    def algorithms(self, at: str) -> tuple[AlgorithmChoice, ...]:
        """How a node, or the nodes of a nest, are computed, and how else they could be; those that there is one way for
        are left out, and those that the library computes."""
        choices, links = self.stages.programs["choose algorithms"].choices, self._insides.links
        call = links.calls.get(at)
        names = [at, *(links.nodes_of(call) if call is not None else ())]
        found = []
        for name in dict.fromkeys(name for name in names if choices.node(name) is not None):
            if name in choices.library:
                continue
            one = choices.algorithms.get(name)
            chosen = kind_of(one) if one is not None else "direct"
            ways = [way for way in ("direct", *choices.possible(name)) if way != chosen]
            if ways and (one is not None or ways != ["direct"]):
                found.append(AlgorithmChoice(name, chosen, {way: ChooseAlgorithm(name, way) for way in ways}))
        return tuple(found)

    # ---- code ----

    def code(self, nest: str) -> NestCode:
        """A nest as text and machine code, each line and each instruction with its statement."""
        return self._insides.codes.code(nest)

    def at(
        self,
        *,
        line: str | None = None,
        node: str | None = None,
        nest: str | None = None,
        statement: tuple[str, int] | None = None,
        instruction: tuple[str, int] | None = None,
    ) -> Links:
        """What belongs to one of these at every level: a line of Python (`net.py:9`), a node of the graph, a nest, a
        statement or an instruction of one (by number)."""
        codes = self._insides.codes
        found = {"line": line, "node": node, "nest": nest, "statement": statement, "instruction": instruction}
        given = {name: value for name, value in found.items() if value is not None}
        if len(given) != 1:
            raise Problem("STR001", f"one of {', '.join(found)} is asked for, got {', '.join(given) or 'none'}")
        if line is not None:
            return codes.at_line(line)
        if node is not None:
            return codes.at_node(node)
        if nest is not None:
            return codes.at_nest(nest)
        if statement is not None:
            return codes.at_statement(*statement)
        assert instruction is not None
        return codes.at_instruction(*instruction)

    def assembly(self, nest: str | int | Nest) -> str:
        """The machine code of one nest as text."""
        if isinstance(nest, int):
            nest = self.plan.steps[nest].name
        call = self._insides.links.call(nest if isinstance(nest, str) else nest.name)
        if isinstance(call, LibraryCall):
            raise Problem("STR304", f"`{call.name}` calls {call.target}: its code is torch's", help=call.why)
        return pipeline.assembly(call.nest, self.target)

    # ---- memory and time ----

    def memory(self) -> MemoryView:
        """The arena: where each tensor lies, and from which to which step it is alive."""
        plan, lifetimes = self.plan, self.stages.program.lifetimes
        tensors = [
            Lifetime(b.name, f"{b.dtype}[{','.join(map(str, b.shape))}]", b.bytes, plan.arena.offsets[b], first, last)
            for (b, first), last in zip(lifetimes.first.items(), (lifetimes.last[b] for b in lifetimes.first))
        ]
        steps = tuple(step.name for step in plan.sequence)
        sizes = plan.arena.bytes, plan.arena.unshared, plan.packed_bytes
        return MemoryView(steps, tuple(sorted(tensors, key=lambda one: (one.first, one.offset))), *sizes)

    def predicted_vs_measured(self) -> Prediction:
        """What each step should take by the assembly of its tiles, beside what it took when `measure` was last called
        on this program. Steps that take turns are measured together."""
        taken = {row.name: row.microseconds for row in self.measured.rows} if self.measured is not None else {}
        return Prediction(tuple(self._predicted(step, taken) for step in self.plan.sequence))

    def _predicted(self, step: Any, taken: dict[str, float]) -> PredictedStep:
        measured = taken.get(step.name)
        if isinstance(step, LibraryCall):
            moved = sum(b.bytes for b in (*step.inputs, *step.outputs))
            return PredictedStep(step.name, f"library: {step.target}", None, measured, "library", {}, moved, 0)
        calls: tuple[Call, ...] = (step,) if isinstance(step, Call) else step.calls
        costs = [self._cost(call.nest) for call in calls]
        terms: dict[str, float] = {}
        for cost in costs:
            for name, cycles in cost.terms.items():
                terms[name] = terms.get(name, 0.0) + cycles
        bound = max(terms, key=lambda name: terms[name], default="ports")
        what = calls[0].source.note if len(calls) == 1 else f"{len(calls)} nests in strips"
        work = [(sum(volume(call.nest)), flop(call.source if len(calls) == 1 else call.nest)) for call in calls]
        return PredictedStep(
            step.name,
            what,
            sum(cost.microseconds for cost in costs),
            measured,
            bound,
            terms,
            sum(moved for moved, _ in work),
            sum(flops for _, flops in work),
            max(cost.spills for cost in costs),
        )

    def _cost(self, nest: Nest) -> Cost:
        if nest not in self._costs:
            self._costs[nest] = estimate(nest, self.target, self.compiled.threads, self._cache)
        return self._costs[nest]

    @cached_property
    def _costs(self) -> dict[Nest, Cost]:
        """What nests cost by their assembly, each estimated once."""
        return {}

    @property
    def _cache(self) -> Cache | None:
        return Cache(journal=self.journal) if self.options.cache else None

    def costs(self) -> str:
        """What each nest should take and what it waits for, the slowest first: estimated, nothing is run."""
        steps = [(step.name, step.nest) for step in self.plan.steps if isinstance(step, Call)]
        return what_holds(steps, self.target, self.compiled.threads, self._cache)

    def runners_up(self, nest: str = "") -> str:
        """A nest's cost by its terms, the bound that holds it, and the schedules near its own with why they lost; of
        the slowest nests where none is named."""
        calls = [step for step in self.plan.steps if isinstance(step, Call)]
        if nest:
            call = self._insides.links.call(nest)
            calls = [call] if isinstance(call, Call) else []
        return closely(calls, self.target, self.compiled.threads, self.options.pack, cache=self._cache)

    def explain(self, *, full: bool = False) -> str:
        """The journal for people, with the steps that a cache hit has left out, and what holds each nest."""
        held = self.costs()
        parts = [self.journal.explain(full=full)]
        if held:
            parts.append(f"what holds each nest, by the static model\n{held}")
        near = self.runners_up()
        if near:
            parts.append(f"the slowest of them, and what they might have been\n{near}")
        return "\n\n".join(parts)
