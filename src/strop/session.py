"""A compilation with its insides open: the graph, the nests, the plan, where the time goes, the assembly.

    session = strop.Session(model, (x,))
    print(session.graph)              # operators after the rewrites
    print(session.nests)              # loop nests as they were scheduled
    print(session.nests["conv1"])     # one of them
    print(session.assembly("conv1"))  # and its machine code
    session.profile().slowest         # microseconds, GFLOP/s and bytes per nest
    session.module(x)                 # what `strop.compile` would have returned
    session.apply("unroll{nest=conv1 loop=kw}")                                  # steer it: nests by loop passes,
    session.apply("relayout{tensor=conv1 steps=((split,1,16),(reorder,(0,1,3,4,2)))}")  # tensors by layouts
    session.undo()
    session.script()                  # what was applied, as text that `apply` takes

The pipeline itself is `strop.run.pipeline`; a session calls it and keeps what it made on the way.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from strop.core.cache import Cache
from strop.core.config import Options
from strop.core.journal import Event, Journal
from strop.core.passes import Pass, Verdict, no, yes
from strop.core.problem import Problem
from strop.graph.ir import Graph
from strop.loops.ir import Nest
from strop.loops.lower.driver import LibraryCall, Lowered
from strop.plan.calls import Call
from strop.plan.explain import closely, what_holds
from strop.plan.program import Plan, as_step
from strop.run import entry, pipeline
from strop.run.dispatch import Arguments, take_apart
from strop.run.live import LiveProgram
from strop.run.packed import dense
from strop.run.pipeline import Compiled, Stages
from strop.run.profile import Profile, TimedProgram, profile
from strop.run.program import NativeProgram, compiled_for, without_winograd
from strop.run.state import State
from strop.run.variants import Program, Traced, Variant

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Nests(Sequence["Nest | LibraryCall"]):
    """Steps of a program, by position or by name; printing shows all of them."""

    steps: tuple[Nest | LibraryCall, ...]
    recipes: Mapping[str, tuple[str, ...]]  # nest → the passes that brought it from the plainest form to this one

    @overload
    def __getitem__(self, which: int | str) -> Nest | LibraryCall: ...
    @overload
    def __getitem__(self, which: slice) -> Nests: ...
    def __getitem__(self, which: int | str | slice) -> Nest | LibraryCall | Nests:
        if isinstance(which, slice):
            return replace(self, steps=self.steps[which])
        if isinstance(which, int):
            return self.steps[which]
        found = next((step for step in self.steps if step.name == which), None)
        if found is None:
            raise Problem("STR304", f"there is no nest `{which}`", help=f"there are: {', '.join(self.names)}")
        return found

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Nest | LibraryCall]:
        return iter(self.steps)

    @property
    def names(self) -> list[str]:
        return [step.name for step in self.steps]

    def __str__(self) -> str:
        return "\n\n".join(self._text(step) for step in self.steps) or "no nests"

    def _text(self, step: Nest | LibraryCall) -> str:
        return "\n".join([str(step), *(f"  # {one}" for one in self.recipes.get(step.name, ()))])


class Session:
    """One model, compiled for one set of example inputs."""

    _stages: Stages | None = None
    _program: LiveProgram | None = None
    _edits: tuple[Pass, ...] = ()
    _unedited: Stages | None = None  # before the first edit by hand
    _traced: Traced | None = None
    _arguments: Arguments | str = "nothing was traced"

    def __init__(
        self,
        module: nn.Module,
        inputs: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: Options | None = None,
        journal: Journal | None = None,
        threads: int | None = None,
    ) -> None:
        """Compile, or find the program in the cache. `threads` goes before what the options say."""
        self.original = module
        self.options = Options.given(options)
        if threads is not None:
            self.options = replace(self.options, threads=threads)
        self.journal = journal if journal is not None else Journal()
        before, start = len(self.journal.events), time.perf_counter()
        self.module = entry.compile(
            module, inputs, kwargs, options=self.options, journal=self.journal, trace=self._trace, build=self._build
        )
        self.seconds = time.perf_counter() - start
        self.cache_hit = self._program is not None and self._stages is None
        self._step_seconds = _step_seconds(self.journal.events[before:])

    def _trace(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        with self.journal.step("capture"):
            traced = entry.default_trace(model, args, kwargs)
        if traced.eager:
            self.journal.add("fallback", type(model).__name__, f"runs eager outside of a session: {traced.eager}")
            traced = replace(traced, eager="")
        if self._traced is None:
            self._traced, self._arguments = traced, take_apart(args, kwargs)
        return traced

    def _build(self, graph: Graph, options: Options, journal: Journal, threads: int) -> Program:
        first = self._program is None
        compiled = compiled_for(graph, options, journal, threads, self._keep if first else None)
        with journal.step("load"):
            direct = without_winograd(graph, options, journal, threads)
            program = LiveProgram(NativeProgram(compiled, options, direct))
        if first:
            self._program, self._captured, self.options = program, graph, options
        return program

    def _keep(self, stages: Stages) -> None:
        self._stages = stages

    # ---- what was made -----------------------------------------------------------------------------------------------

    @property
    def program(self) -> NativeProgram:
        """The program that runs, bound to the module's parameters."""
        if self._program is None:
            raise Problem("STR108", "the model computes nothing: its outputs are its inputs, or views of them")
        return self._program.current

    @property
    def compiled(self) -> Compiled:
        return self.program.compiled

    @cached_property
    def stages(self) -> Stages:
        """Everything on the way. A program that came from the cache goes that way again, up to code generation."""
        if self._stages is None:
            with self.journal.step("look inside", why="the program came from the cache"):
                self._stages = self._made_again(self.journal)
        return self._stages

    def _made_again(self, journal: Journal) -> Stages:
        target, threads = pipeline.target_for(self.options), self.compiled.threads
        stages = pipeline.run_stages(self._captured, target, self.options, journal, threads)
        measured = self.compiled.about.get("edits")
        return pipeline.replanned(stages, journal, Pass.parse_all(measured)) if measured else stages

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

    @cached_property
    def nests(self) -> Nests:
        """What runs at every call, scheduled, under the names of the model."""
        return _readable(self.plan.steps)

    @cached_property
    def preparation(self) -> Nests:
        """What runs when parameters change: folding and packing of weights."""
        return _readable(self.plan.prepare)

    def explain(self, *, full: bool = False) -> str:
        """The journal for people, with the steps that a cache hit has left out, and what holds each nest."""
        if self._program is None:
            return self.journal.explain(full=full)
        held = self.costs()
        parts = [self.journal.explain(full=full)]
        if held:
            parts.append(f"what holds each nest, by the static model\n{held}")
        calls = [step for step in self.plan.steps if isinstance(step, Call)]
        target = pipeline.target_for(self.options)
        cache = Cache(journal=self.journal) if self.options.cache else None
        near = closely(calls, target, self.compiled.threads, self.options.pack, cache=cache)
        if near:
            parts.append(f"the slowest of them, and what they might have been\n{near}")
        return "\n\n".join(parts)

    def costs(self) -> str:
        """What each nest should take and what it waits for, the slowest first: estimated, nothing is run."""
        steps = [(step.name, step.nest) for step in self.plan.steps if isinstance(step, Call)]
        target = pipeline.target_for(self.options)
        cache = Cache(journal=self.journal) if self.options.cache else None
        return what_holds(steps, target, self.compiled.threads, cache)

    def summary(self) -> dict[str, Any]:
        """What was compiled, what it needs, and how long that took."""
        compiled = self.compiled
        return {
            "nodes": compiled.about["nodes"],
            "nests": compiled.about["nests"],
            "functions": compiled.about["functions"],
            "library_nodes": dict(compiled.about["library"]),
            "threads": compiled.threads,
            "arena_bytes": compiled.arena_bytes,
            "arena_without_reuse_bytes": compiled.about["unshared_bytes"],
            "packed_bytes": compiled.packed_bytes,
            "scratch_bytes": compiled.scratch_bytes * compiled.threads,
            "code_bytes": sum(map(len, compiled.code)),
            "cache_hit": self.cache_hit,
            "compile_seconds": self.seconds,
            "step_seconds": dict(self._step_seconds),
        }

    # ---- steering ----------------------------------------------------------------------------------------------------

    @property
    def edits(self) -> tuple[Pass, ...]:
        """What was applied by hand, in order."""
        return self._edits

    def apply(self, *passes: Pass | str) -> None:
        """Transform the program and exchange it under `module`; a refusal is raised and leaves everything as it was.

        Text may hold several passes. Passes on nests come after those that the planner chose for the nest, or take
        their place after `plain{nest=…}`. All are applied together: only the whole has to be a schedule.
        """
        new = [one for given in passes for one in (Pass.parse_all(given) if isinstance(given, str) else [given])]
        self._steer((*self._edits, *new))

    def why(self, *passes: Pass | str) -> Verdict:
        """Whether `apply` would take these, and if not, why not. Nothing is changed or recorded, wherever the session
        stands: stages that nobody has looked at yet are made for this answer alone."""
        new = [one for given in passes for one in (Pass.parse_all(given) if isinstance(given, str) else [given])]
        unseen = Journal()
        stages = self.__dict__.get("stages") or self._stages or self._made_again(unseen)
        try:
            pipeline.replanned(self._unedited or stages, unseen, (*self._edits, *new))
        except Problem as problem:
            return no(problem.message, problem.where or "")
        return yes()

    def undo(self) -> None:
        """Take the last pass that was applied back."""
        if not self._edits:
            raise Problem("STR001", "nothing was applied that could be undone")
        self._steer(self._edits[:-1])

    def script(self) -> str:
        """The applied passes as text: `Session(model, inputs).apply(script)` does the same again."""
        return "\n".join(map(str, self._edits))

    def _steer(self, edits: tuple[Pass, ...]) -> None:
        unedited = self._unedited or self.stages
        stages = pipeline.replanned(unedited, self.journal, edits)
        compiled = pipeline.generate(stages, pipeline.target_for(self.options), self.journal)
        assert self._program is not None
        direct = without_winograd(self._captured, self.options, self.journal, compiled.threads)
        self._program.exchange(NativeProgram(compiled, self.options, direct))
        self._edits, self._unedited = edits, unedited
        self.__dict__.update(stages=stages)
        for derived in ("nests", "preparation"):
            self.__dict__.pop(derived, None)

    # ---- looking closer ----------------------------------------------------------------------------------------------

    def profile(self, rounds: int = 30) -> Profile:
        """Time every nest alone, in order, in `rounds` real runs. The module's buffers are left as they are."""
        if rounds < 1:
            raise Problem("STR001", f"rounds must be at least 1, got {rounds}")
        threads, plan = self.compiled.threads, self.plan
        if self._traced is None or isinstance(self._arguments, str):
            raise Problem("STR001", "there is nothing to time")
        target = pipeline.target_for(self.options)
        with self.journal.step("profile"):
            compiled = pipeline.generate(self.stages, target, self.journal, separate=True)
            timed = TimedProgram(compiled, self.options)
            snapshot = State(self.original).current()
            variant = Variant(self._traced, lambda graph, threads: timed)
            variant.ready(threads, snapshot)
            inputs = (*self._arguments.tensors, *(snapshot.tensors[key] for key in variant.buffers))
            return profile(plan, timed, self.program, [dense(tensor) for tensor in inputs], rounds)

    def assembly(self, nest: str | int | Nest) -> str:
        """The machine code of one nest as text."""
        calls = {call.name: call for call in (*self.plan.prepare, *self.plan.steps)}
        calls |= {call.name: call for group in self.plan.strips.values() for call in group.calls}
        if isinstance(nest, int):
            nest = self.plan.steps[nest].name
        name = nest if isinstance(nest, str) else nest.name
        call = calls.get(name)
        if call is None:
            raise Problem("STR304", f"there is no nest `{name}`", help=f"there are: {', '.join(calls)}")
        if isinstance(call, LibraryCall):
            raise Problem("STR304", f"`{name}` calls {call.target}: its code is torch's", help=call.why)
        return pipeline.assembly(call.nest, pipeline.target_for(self.options))

    def __repr__(self) -> str:
        return f"<Session of {type(self.original).__name__}: {len(self.compiled.steps)} steps>"


def _readable(steps: Sequence[Call | LibraryCall]) -> Nests:
    """Scheduled nests under the names that the model gave."""
    recipes = {
        step.name: tuple(map(str, step.passes))
        for step in steps
        if isinstance(step, Call) and step.passes and step.name == step.source.name
    }
    return Nests(tuple(map(as_step, steps)), recipes)


def _step_seconds(events: Sequence[Event]) -> dict[str, float]:
    """Seconds per step of a compilation. What no step accounts for is the parameter program's first run."""
    steps = [event for event in events if event.kind == "step" and event.seconds is not None]
    outer = min((event.depth for event in steps), default=0)
    taken: dict[str, float] = {}
    whole = 0.0
    for event in steps:
        if event.depth == outer:
            whole += event.seconds or 0.0
        elif event.depth == outer + 1:
            taken[event.subject] = taken.get(event.subject, 0.0) + (event.seconds or 0.0)
    return {**taken, "bind": max(whole - sum(taken.values()), 0.0)}
