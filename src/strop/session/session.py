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
    session.why_not("conv1", "pool")  # why two nests are not one, and what it would need
    session.edges()                   # who reads what of whom, and from which memory it comes
    session.at(line="net.py:9")       # nodes, nests, statements and instructions that a line became
    session.measure()                 # times that are kept beside the predicted ones
    session.check()                   # the program's numbers beside eager's
    session.branch("other")           # another line of edits; switch() goes back, compare() shows both
    session.space("conv1")            # what could be done there, what it would change, and what cannot and why
    session.history                   # every pass since the captured graph
    session.save("mine.json")         # what was done by hand; `Session.load` does it again
    print(session.script())           # the same as a Python program

The pipeline itself is `strop.driver.pipeline`; a session calls it and keeps what it made on the way.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strop.core.journal import Event, Journal
from strop.core.options import Options
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.draw.notebook import facts_html, page
from strop.driver import pipeline
from strop.driver.artifact import Artifact
from strop.driver.pipeline import Stages
from strop.graph.ir import Graph
from strop.graph.joint import JointGraph
from strop.runtime import compile_model
from strop.runtime.dispatch import Arguments, take_apart
from strop.runtime.hot_swap import HotSwapProgram
from strop.runtime.load_model import Model, load, runs_code
from strop.runtime.numeric_check import NumericCheck, References
from strop.runtime.packed import dense
from strop.runtime.profile import Profile, TimedProgram, profile
from strop.runtime.program import NativeProgram, compiled_for, with_direct_algorithms
from strop.runtime.specializations import RunnableProgram, Specialization, Traced
from strop.runtime.state import ModuleState
from strop.runtime.step_program import Half
from strop.session.edits import Edits
from strop.session.operations import OperationJournal
from strop.session.saved import SavedSession
from strop.session.steering import Steering
from strop.session.training_step import TrainingHalf, TrainingStep, with_passes
from strop.session.views import StoredValue

if TYPE_CHECKING:
    from torch import nn


#: facts of the summary that a notebook shows
_SHOWN = ("nodes", "nests", "functions", "threads", "arena_bytes", "packed_bytes", "code_bytes")


class Session(Steering):
    """One model, compiled for one set of example inputs."""

    _first: Stages | None = None  # as they were when the program was compiled
    _traced: Traced | None = None
    _arguments: Arguments | str = "nothing was traced"
    _step: TrainingStep | None = None

    def __init__(
        self,
        module: nn.Module,
        inputs: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: Options | None = None,
        journal: Journal | None = None,
        threads: int | None = None,
        *,
        training: bool = False,
        spec: str = "",
        plan: bool = True,
    ) -> None:
        """Compile, or find the program in the cache. `threads` goes before what the options say; `spec` tells how the
        model can be made again (`package.module:factory`), for scripts. With `training`, the session is over a training
        step: `halves` has its two programs, `stored` what is kept between them. A program out of the cache is planned
        again, up to code generation, so that looking and previews are quick from the first on; without `plan` only when
        somebody first looks."""
        self.original, self.inputs, self.kwargs, self.spec = module, tuple(inputs), dict(kwargs or {}), spec
        self._prepare()
        self.options = Options.given(options)
        if threads is not None:
            self.options = replace(self.options, threads=threads)
        self.journal = journal if journal is not None else Journal()
        before, start = len(self.journal.events), time.perf_counter()
        if training:
            self.module, self._step = self._trained(self.options, self.journal)
        else:
            self.module = compile_model.compile(
                module, inputs, kwargs, options=self.options, journal=self.journal, trace=self._trace, build=self._build
            )
        self.seconds = time.perf_counter() - start
        self.cache_hit = self._swap is not None and self._first is None
        self._step_seconds = _step_seconds(self.journal.events[before:])
        self._references = References(module, self.inputs, self.kwargs, training=training)
        if plan:
            self._plan()

    @classmethod
    def of(
        cls, spec: str, *, options: Options | None = None, journal: Journal | None = None, training: bool = False
    ) -> Session:
        """The session of a model that is named: a network of the zoo, an ONNX file, `package.module:factory`."""
        model = load(spec)
        return cls(model.module, model.inputs, model.kwargs, options, journal, training=training, spec=spec)

    @property
    def _programs(self) -> Sequence[Steering]:
        """What is steered: the session itself or, of a training step, its halves."""
        if self._step is not None:
            return list(self._step.halves.values())
        return [self] if self._swap is not None else []

    def _plan(self) -> None:
        """Have the stages of every program that there is."""
        for one in self._programs:
            one._seen()

    # ---- a training step ----

    def _trained(self, options: Options, journal: Journal) -> tuple[Any, TrainingStep]:
        step = TrainingStep(options, journal, lambda: self._references.run(self.module))
        module = compile_model.compile(
            self.original,
            self.inputs,
            self.kwargs,
            training=True,
            options=options,
            journal=journal,
            backend=step.backend,
        )
        if not step.halves:
            raise Problem("STR001", "nothing of the training step was compiled", help=journal.explain())
        return module, step

    @property
    def training(self) -> bool:
        """Whether it is over a training step."""
        return self._step is not None

    @property
    def halves(self) -> Mapping[Half, TrainingHalf]:
        """The programs of a training step, `forward` and `backward`: each shows and does what a session does."""
        return self._training_step.halves

    @property
    def joint(self) -> JointGraph:
        """Forward and backward as one graph, with what is kept between them."""
        return self._training_step.joint

    def stored(self) -> tuple[StoredValue, ...]:
        """The values of forward that backward needs: stored for it, or computed again; with the cycles of either, and
        the pass that would change it."""
        return self._training_step.stored(self.target)

    def partition(self, *passes: Pass | str) -> None:
        """Divide the step again, with these passes (`keep{value=…}`, `recompute{value=…}`) after those before. Passes
        by hand on the halves are lost: the halves are other graphs."""
        self._training_step  # noqa: B018 - a session over something else says so
        new = [one for given in passes for one in (Pass.parse_all(given) if isinstance(given, str) else [given])]
        options = with_passes(self.options, new)
        (module, step), heard = self.operations.run("partition", lambda journal: self._trained(options, journal))
        self.module, self._step, self.options = module, step, options
        self.journal.take(heard.events)
        for half in step.halves.values():
            half.journal = self.journal
        self._plan()
        self.operations.tell("applied", "partition", " ".join(map(str, new)))

    @property
    def _training_step(self) -> TrainingStep:
        if self._step is None:
            raise Problem("STR001", "this session is not over a training step",
                          help="Session(model, args, training=True)")  # fmt: skip
        return self._step

    @property
    def digest(self) -> str:
        """Of the object code: equal programs have equal ones. Of a training step, of both halves."""
        if self._step is None:
            return super().digest
        return hashlib.sha256("".join(half.digest for half in self._step.halves.values()).encode()).hexdigest()

    @property
    def program(self) -> NativeProgram:
        """The program that runs, bound to the module's parameters."""
        if self._step is not None:
            raise Problem("STR001", "this session is over a training step, which has two programs",
                          help="session.halves['forward'], session.halves['backward']")  # fmt: skip
        return super().program

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
        first = self._swap is None
        compiled = compiled_for(graph, options, journal, threads, self._keep if first else None)
        with journal.step("load"):
            direct = with_direct_algorithms(graph, options, journal, threads)
            swap = HotSwapProgram(NativeProgram(compiled, options, direct))
        if first:
            self._captured, self.options = graph, options
            self._begin(swap, self._first)
        return swap

    def _keep(self, stages: Stages) -> None:
        self._first = stages

    def _made_again(self, journal: Journal) -> Stages:
        compiled = self._states[()].program.compiled
        return pipeline.run_stages(self._captured, self.target, self.options, journal, compiled.threads)

    def _loaded(self, compiled: Artifact) -> NativeProgram:
        direct = with_direct_algorithms(self._captured, self.options, self.journal, compiled.threads)
        return NativeProgram(compiled, self.options, direct)

    # ---- what was made ----

    def explain(self, *, full: bool = False) -> str:
        """The journal for people, with the steps that a cache hit has left out, and what holds each nest."""
        return self.journal.explain(full=full) if self._swap is None else super().explain(full=full)

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

    # ---- running it ----

    def profile(self, rounds: int = 30) -> Profile:
        """Time every nest alone, in order, in `rounds` real runs. The module's buffers are left as they are."""
        with self.operations.operation("profile") as journal, self.journal.step("profile"):
            return self._profiled(rounds, journal)

    def _profiled(self, rounds: int, journal: OperationJournal) -> Profile:
        if rounds < 1:
            raise Problem("STR001", f"rounds must be at least 1, got {rounds}")
        plan = self.plan
        if self._traced is None or isinstance(self._arguments, str):
            raise Problem("STR001", "there is nothing to time")
        timed = TimedProgram(self._separate(journal), self.options)
        snapshot = ModuleState(self.original).current()
        variant = Specialization(self._traced, lambda graph, threads: timed)
        variant.ready(self.compiled.threads, snapshot)
        inputs = (*self._arguments.tensors, *(snapshot.tensors[key] for key in variant.buffers))
        return profile(plan, timed, self.program, [dense(tensor) for tensor in inputs], rounds, journal.checkpoint)

    def check(self) -> NumericCheck:
        """The program's numbers beside those of eager mode, on the session's inputs: outputs, and gradients of a
        training step. Buffers and the random generator are left as they are."""
        with self.operations.operation("check") as journal:
            with journal.step("check"):
                found = self._references.check(self.module)
            for one in self._programs:
                one._checked(found)
            self.operations.tell("checked", self._branch, found.told, ok=found.ok)
            return found

    # ---- files and scripts ----

    def _saved(self) -> SavedSession:
        if self._step is None:
            self.program  # noqa: B018 - a model that computes nothing says so
        told = {f.name: getattr(self.options, f.name) for f in fields(self.options)}
        programs = {half or "program": one._saved_program() for half, one in self._named}
        threads = self._programs[0].compiled.threads
        return SavedSession(self.spec, self.training, told, threads, self.target.name, programs)

    @property
    def _named(self) -> list[tuple[str, Steering]]:
        """What is steered, with the name of the half that it is."""
        names = self._step.halves if self._step is not None else [""]
        return list(zip(map(str, names), self._programs))

    def save(self, path: str | PathLike[str]) -> None:
        """Write what was done by hand, in all branches, and to which model, as JSON."""
        self._saved().write(Path(path))

    def script(self) -> str:
        """The current branch as a Python program that names model, options and target, and does the same again."""
        return self._saved().script()

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        module: nn.Module | None = None,
        inputs: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        trust: bool = False,
    ) -> Session:
        """The session that a file holds; of the model that it names, unless one is given. Passes are parsed, nothing of
        the file is executed. A file may name a factory, whose module would be imported: that is refused unless you
        `trust` it. A network of the zoo and an ONNX file are data."""
        return cls.reading(path, module, inputs, kwargs, trust=trust)(None)

    @classmethod
    def reading(
        cls,
        path: str | PathLike[str],
        module: nn.Module | None = None,
        inputs: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        trust: bool = False,
    ) -> Callable[[Journal | None], Session]:
        """The first half of `load`: the file is read and checked, and its model is made. What is returned compiles."""
        saved = SavedSession.read(Path(path))
        with saved.told(path):
            branches, options = saved.passes, saved.session_options()
        if module is None and not saved.model:
            raise Problem(
                "STR306", f"`{path}` does not say how its model is made", help="give the model and its inputs"
            )
        if module is None and not trust and runs_code(saved.model):
            raise Problem("STR306", f"`{path}` names code, which loading it would run: {saved.model:.200}",
                          help="if the file is yours: Session.load(path, trust=True); or give the model")  # fmt: skip
        if module is not None:
            model, spec = Model("", module, tuple(inputs), dict(kwargs or {})), ""
        else:
            model, spec = load(saved.model), saved.model

        def made(journal: Journal | None) -> Session:
            new = cls(model.module, model.inputs, model.kwargs, options, journal, training=saved.training, spec=spec)
            new._begin_as(saved, branches, path)
            return new

        return made

    def _begin_as(
        self, saved: SavedSession, branches: Mapping[str, Mapping[str, Edits]], path: str | PathLike[str]
    ) -> None:
        there = {half or "program": one for half, one in self._named}
        if there.keys() != branches.keys() or any(
            one._captured.key != saved.programs[name].graph for name, one in there.items()
        ):
            raise Problem("STR306", f"`{path}` is a session of another model, or of other input shapes",
                          help="passes by hand name the nodes of one captured graph")  # fmt: skip
        with saved.told(path):
            for name, one in there.items():
                one._restore(branches[name], saved.programs[name].branch)

    def __repr__(self) -> str:
        if self._step is not None:
            return f"<Session of a training step of {type(self.original).__name__}>"
        return f"<Session of {type(self.original).__name__}: {len(self.compiled.steps)} steps>"

    def _repr_html_(self) -> str:
        """As a notebook shows it: its numbers above its plan."""
        title = f"Session of {type(self.original).__name__}"
        if self.training:
            plans = [half.view("plan")._repr_html_() for half in self.halves.values()]
            return page(title, f"a training step for {self.target.name}: {' and '.join(self.halves)}", *plans)
        summary = self.summary()
        shown = {name.replace("_", " "): f"{summary[name]:,}" for name in _SHOWN}
        said = f"for {self.target.name}; session.measure() displays itself, too"
        return page(title, said, facts_html(shown), self.view("plan")._repr_html_())


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
