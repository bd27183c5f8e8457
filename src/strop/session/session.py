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
    session.keep_apart("conv1", "relu")                # or say what planners have to keep to
    session.undo()
    session.space("conv1")            # what could be done there, what it would change, and what cannot and why
    session.history                   # every pass since the captured graph
    session.save("mine.json")         # what was done by hand; `Session.load` does it again
    print(session.script())           # the same as a Python program

The pipeline itself is `strop.driver.pipeline`; a session calls it and keeps what it made on the way.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strop.core.cache import Cache
from strop.core.journal import Event, Journal
from strop.core.options import Options
from strop.core.passes import LEVELS, Level, Pass, Verdict, no, yes
from strop.core.problem import Problem
from strop.core.process_memory import physical_bytes
from strop.driver import pipeline
from strop.driver.artifact import Artifact
from strop.driver.pipeline import Stages
from strop.graph.ir import Graph
from strop.loops.calls import Call
from strop.loops.ir import Nest
from strop.loops.lowered import LibraryCall, Lowered
from strop.loops.passes.fusion import Steps
from strop.runtime import compile_model
from strop.runtime.dispatch import Arguments, take_apart
from strop.runtime.hot_swap import HotSwapProgram
from strop.runtime.load_model import load
from strop.runtime.packed import dense
from strop.runtime.profile import Profile, TimedProgram, profile
from strop.runtime.program import NativeProgram, compiled_for, with_direct_algorithms
from strop.runtime.specializations import RunnableProgram, Specialization, Traced
from strop.runtime.state import ModuleState
from strop.schedule.constraints import KeepApart, Pin
from strop.schedule.explain import closely, what_holds
from strop.schedule.lowering import ChooseAlgorithm
from strop.schedule.planners import Hooks
from strop.schedule.program import Plan
from strop.session.nests import Nests, readable
from strop.session.preview import Preview, Prices
from strop.session.saved import SavedSession
from strop.session.space import Possibility, fusions, possibilities, schedules

if TYPE_CHECKING:
    from torch import nn


Edits = tuple[tuple[Pass, ...], ...]  # what each call of `apply` was given


class Session:
    """One model, compiled for one set of example inputs."""

    _stages: Stages | None = None
    _program: HotSwapProgram | None = None
    _edits: Edits = ()
    _undone: Edits = ()  # the last one to be undone is the last
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
        *,
        spec: str = "",
    ) -> None:
        """Compile, or find the program in the cache. `threads` goes before what the options say; `spec` tells how the
        model can be made again (`package.module:factory`), for scripts."""
        self.original, self.inputs, self.kwargs, self.spec = module, tuple(inputs), dict(kwargs or {}), spec
        self.hooks = Hooks()
        self.options = Options.given(options)
        if threads is not None:
            self.options = replace(self.options, threads=threads)
        self.journal = journal if journal is not None else Journal()
        before, start = len(self.journal.events), time.perf_counter()
        self.module = compile_model.compile(
            module, inputs, kwargs, options=self.options, journal=self.journal, trace=self._trace, build=self._build
        )
        self.seconds = time.perf_counter() - start
        self.cache_hit = self._program is not None and self._stages is None
        self._step_seconds = _step_seconds(self.journal.events[before:])

    @classmethod
    def of(cls, spec: str, *, options: Options | None = None, journal: Journal | None = None) -> Session:
        """The session of a model that is named: a network of the zoo, an ONNX file, `package.module:factory`."""
        model = load(spec)
        return cls(model.module, model.inputs, model.kwargs, options, journal, spec=spec)

    def _trace(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        with self.journal.step("capture"):
            traced = compile_model.default_trace(model, args, kwargs)
        if traced.eager:
            self.journal.add("fallback", type(model).__name__, f"runs eager outside of a session: {traced.eager}")
            traced = replace(traced, eager="")
        if self._traced is None:
            self._traced, self._arguments = traced, take_apart(args, kwargs)
        return traced

    def _build(self, graph: Graph, options: Options, journal: Journal, threads: int) -> RunnableProgram:
        first = self._program is None
        compiled = compiled_for(graph, options, journal, threads, self._keep if first else None)
        with journal.step("load"):
            direct = with_direct_algorithms(graph, options, journal, threads)
            program = HotSwapProgram(NativeProgram(compiled, options, direct))
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
    def compiled(self) -> Artifact:
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
        measured = self.compiled.about.edits
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
        return readable(self.plan.steps)

    @cached_property
    def preparation(self) -> Nests:
        """What runs when parameters change: folding and packing of weights."""
        return readable(self.plan.prepare)

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
            "nodes": compiled.about.nodes,
            "nests": compiled.about.nests,
            "functions": compiled.about.functions,
            "library_nodes": dict(compiled.about.library),
            "threads": compiled.threads,
            "arena_bytes": compiled.arena_bytes,
            "arena_without_reuse_bytes": compiled.about.unshared_bytes,
            "packed_bytes": compiled.packed_bytes,
            "scratch_bytes": compiled.scratch_bytes * compiled.threads,
            "code_bytes": sum(map(len, compiled.code)),
            "cache_hit": self.cache_hit,
            "compile_seconds": self.seconds,
            "step_seconds": dict(self._step_seconds),
        }

    # ---- steering ----------------------------------------------------------------------------------------------------

    @property
    def history(self) -> tuple[Pass, ...]:
        """Every pass since the captured graph: replaying them makes the same code."""
        return self.stages.program.history

    @property
    def edits(self) -> tuple[Pass, ...]:
        """What was applied by hand, in order."""
        return _flat(self._edits)

    def apply(self, *passes: Pass | str) -> None:
        """Transform the program and exchange it under `module`; a refusal is raised and leaves everything as it was.

        Text may hold several passes. Each comes after those that the planner of its level has chosen; those on a nest
        take their place after `reset{nest=…}`. All are applied together: only the whole has to be a schedule. What
        was undone can't be redone after that.
        """
        new = _parsed(passes)
        self._steer((*self._edits, new) if new else self._edits, ())

    def why(self, *passes: Pass | str) -> Verdict:
        """Whether `apply` would take these, and if not, why not. Nothing is changed or recorded, wherever the session
        stands: stages that nobody has looked at yet are made for this answer alone."""
        try:
            self._replanned((*self.edits, *_parsed(passes)), Journal())
        except Problem as problem:
            return no(problem.message, problem.where or "")
        return yes()

    def preview(self, *passes: Pass | str) -> Preview:
        """What `apply` would change: bytes, cycles and nests before and after. No code is made, nothing is recorded."""
        stages = self._seen(Journal())
        return self._preview(self._unedited or stages, stages, self.edits, _parsed(passes))

    def _preview(self, unedited: Stages, now: Stages, edits: Sequence[Pass], new: tuple[Pass, ...]) -> Preview:
        after = pipeline.replanned(unedited, Journal(), (*edits, *new), self.hooks)
        return self._prices.preview(now.program, after.program, new)

    @cached_property
    def _prices(self) -> Prices:
        return Prices(pipeline.target_for(self.options), self.compiled.threads)

    def space(self, at: str = "", *, levels: Sequence[Level] = LEVELS) -> list[Possibility]:
        """What can be applied, and what can't and why. With the name of a node, a nest or a tensor only what concerns
        that; without one, nests that are alike are looked at once. What each would change is predicted when its
        `preview` is looked at, for the session as it is now."""
        now, edits = self._seen(Journal()), self.edits
        unedited = self._unedited or now
        found = [
            replace(one, price=partial(self._preview, unedited, now, edits, one.passes))
            for one in possibilities(now.programs, levels, at)
        ]
        if "loops" in levels:
            found += schedules(now.programs["schedule"], now.program, self._prices, at)
        return found

    def keep_apart(self, a: str, b: str) -> None:
        """Never fuse these two nests."""
        self.apply(KeepApart(a, b))

    def pin(self, tensor: str, layout: str) -> None:
        """Let a tensor lie `channels_last` or `blocked`, whatever that costs."""
        self.apply(Pin(tensor, layout))

    def algorithm(self, node: str, use: str) -> None:
        """Compute a node by an algorithm, with its best numbers, or `direct`."""
        self.apply(ChooseAlgorithm(node, use))

    def fuse(self, a: str, b: str) -> None:
        """Make one nest of two that the planner has left apart, by whichever kind of fusion is legal."""
        steps = Steps(self._seen(Journal()).programs["fuse"].nests)
        verdicts = [(one, one.can(steps)) for one in (*fusions(a, b), *fusions(b, a))]
        legal = next((one for one, verdict in verdicts if verdict), None)
        if legal is None:
            raise Problem("STR301", f"`{a}` and `{b}` cannot be fused: {verdicts[0][1].why}",
                          help="session.space(name) lists what can be")  # fmt: skip
        self.apply(legal)

    def undo(self) -> None:
        """Take back what `apply` was given last."""
        if not self._edits:
            raise Problem("STR001", "nothing was applied that could be undone")
        self._steer(self._edits[:-1], (*self._undone, self._edits[-1]))

    def redo(self) -> None:
        """Apply again what was undone last."""
        if not self._undone:
            raise Problem("STR001", "nothing was undone that could be done again")
        self._steer((*self._edits, self._undone[-1]), self._undone[:-1])

    def branch(self) -> Session:
        """Another session of the same model that goes on from here; each leaves the other as it is."""
        other = Session(self.original, self.inputs, self.kwargs, self.options, spec=self.spec)
        other._unedited = self._unedited or self.stages
        other.__dict__.update(stages=other._unedited)
        if self._edits:
            other._steer(self._edits, self._undone)
        return other

    def _saved(self) -> SavedSession:
        told = {f.name: getattr(self.options, f.name) for f in fields(self.options)}
        target, threads = pipeline.target_for(self.options), self.compiled.threads
        edits = tuple(" ".join(map(str, passes)) for passes in self._edits)
        return SavedSession(self.spec, self._captured.key, told, threads, target.name, edits)

    def save(self, path: str | PathLike[str]) -> None:
        """Write what was done by hand, and to which model, as JSON."""
        self._saved().write(Path(path))

    def script(self) -> str:
        """The session as a Python program that names model, options and target, and does the same again."""
        return self._saved().script()

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        module: nn.Module | None = None,
        inputs: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Session:
        """The session that a file holds; of the model that it names, unless one is given. Passes are parsed, nothing of
        the file is executed. The module that it names is imported."""
        saved = SavedSession.read(Path(path))
        with saved.told(path):
            edits, options = saved.passes, saved.session_options()
        if module is None and not saved.model:
            raise Problem(
                "STR306", f"`{path}` does not say how its model is made", help="give the model and its inputs"
            )
        made = cls.of(saved.model, options=options) if module is None else cls(module, inputs, kwargs, options)
        if made._program is None or made._captured.key != saved.graph:
            raise Problem("STR306", f"`{path}` is a session of another model, or of other input shapes",
                          help="passes by hand name the nodes of one captured graph")  # fmt: skip
        if edits:
            with saved.told(path):
                made._steer(edits, ())
        return made

    def _seen(self, journal: Journal) -> Stages:
        """The stages as they are; made for whoever asks where nobody has looked at them yet."""
        return self.__dict__.get("stages") or self._stages or self._made_again(journal)

    def _replanned(self, edits: Sequence[Pass], journal: Journal) -> Stages:
        return pipeline.replanned(self._unedited or self._seen(journal), journal, edits, self.hooks)

    def _steer(self, edits: Edits, undone: Edits) -> None:
        unedited, heard = self._unedited or self.stages, Journal()
        stages = pipeline.replanned(unedited, heard, _flat(edits), self.hooks)
        target = pipeline.target_for(self.options)
        known = pipeline.functions_of(unedited, self.compiled, target)
        compiled = pipeline.generate(stages, target, heard, known=known)
        _require_memory(compiled)
        assert self._program is not None
        direct = with_direct_algorithms(self._captured, self.options, self.journal, compiled.threads)
        self._program.exchange(NativeProgram(compiled, self.options, direct))
        self.journal.take(heard.events)
        self._edits, self._undone, self._unedited = edits, undone, unedited
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
            known = pipeline.functions_of(self.stages, self.compiled, target)
            compiled = pipeline.generate(self.stages, target, self.journal, separate=True, known=known)
            timed = TimedProgram(compiled, self.options)
            snapshot = ModuleState(self.original).current()
            variant = Specialization(self._traced, lambda graph, threads: timed)
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


def _parsed(passes: Sequence[Pass | str]) -> tuple[Pass, ...]:
    """What a caller gave, if it is passes whose fields hold what they may."""
    found = [one for given in passes for one in (Pass.parse_all(given) if isinstance(given, str) else [given])]
    for one in found:
        if not isinstance(one, Pass):
            raise Problem("STR001", f"a pass or the text of passes is applied, got {one!r:.60}",
                          help="session.space() lists what can be")  # fmt: skip
        if not (verdict := one.well_formed()):
            raise Problem("STR301", f"{type(one).title}: {verdict.why}", help="docs/passes.md has every pass")
        if one.level == "partition":
            raise Problem("STR301", f"{one}: a session holds a forward graph, of which nothing is kept for backward",
                          help='strop.compile(model, args, training=True, partition="keep{value=…}")')  # fmt: skip
    return tuple(found)


def _require_memory(compiled: Artifact) -> None:
    """A layout or a place by hand may ask for any amount of memory."""
    needed = compiled.arena_bytes + compiled.packed_bytes + compiled.temporary_bytes
    needed += compiled.scratch_bytes * compiled.threads
    present = physical_bytes()
    if present is not None and needed > present:
        raise Problem("STR301", f"the program would take {needed >> 20} MB; the machine has {present >> 20}",
                      help="session.preview(...) shows what a pass would change")  # fmt: skip


def _flat(edits: Edits) -> tuple[Pass, ...]:
    return tuple(one for passes in edits for one in passes)


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
