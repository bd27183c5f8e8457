"""The two halves of a training step, each with its insides open, and what is stored between them.

session = strop.Session(model, (x,), training=True)
session.halves["backward"].nests     # everything that a session shows and does, of each half
session.stored()                     # what forward stores for backward, what is computed again, and what each costs
session.partition("recompute{value=layer1.relu}")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from strop.core.journal import Journal
from strop.core.min_cut import INFINITE
from strop.core.options import Options
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.driver import pipeline
from strop.driver.artifact import Artifact
from strop.driver.pipeline import Stages
from strop.graph.ir import Graph, Node
from strop.graph.joint import JointGraph
from strop.graph.passes.partition import Keep, Recompute
from strop.runtime.dynamo import Backend
from strop.runtime.hot_swap import HotSwapProgram
from strop.runtime.profile import Profile, TimedStepProgram, profile
from strop.runtime.program import NativeProgram, compiled_for
from strop.runtime.step_memory import StepMemory
from strop.runtime.step_program import Half, StepProgram, build_step, step_graph
from strop.schedule.rematerialization import Rematerialization
from strop.session.operations import OperationJournal
from strop.session.steering import Steering
from strop.session.views import StoredValue
from strop.target.description import Target


class TrainingHalf(Steering):
    """The forward or the backward graph of a step. Its program takes weights as arguments, and packs some of them."""

    def __init__(
        self,
        half: Half,
        graph: Graph,
        weights: Sequence[int],
        memory: StepMemory,
        options: Options,
        journal: Journal,
        threads: int,
        run: Callable[[], object],
    ) -> None:
        """`run` runs the whole step once."""
        self.half, self.options, self.journal, self._run = half, options, journal, run
        self._prepare()
        self._memory = memory
        self._direct = partial(build_step, half, graph, weights, memory, options.direct, journal, threads)
        self._step = step_graph(half, graph, weights, self.target)
        self._captured = self._step.graph
        kept: list[Stages] = []
        compiled = compiled_for(self._captured, options, journal, threads, kept.append)
        with journal.step("load"):
            swap = HotSwapProgram(self._loaded(compiled))
        self._begin(swap, kept[0] if kept else None)

    @property
    def swap(self) -> HotSwapProgram:
        """What runs, whatever it is exchanged for."""
        assert self._swap is not None
        return self._swap

    def _made_again(self, journal: Journal) -> Stages:
        compiled = self._states[()].program.compiled
        return pipeline.run_stages(self._captured, self.target, self.options, journal, compiled.threads)

    def _loaded(self, compiled: Artifact) -> NativeProgram:
        return StepProgram(compiled, self.options, self._step, self._memory, self._direct)

    def _profiled(self, rounds: int, journal: OperationJournal) -> Profile:
        if rounds < 1:
            raise Problem("STR001", f"rounds must be at least 1, got {rounds}")
        given = self.swap.inputs_of(self._run)
        if not given:
            raise Problem("STR001", f"a step does not call its {self.half} half", help="session.check() runs one")
        made = TimedStepProgram(self._separate(journal), self.options, self._step, StepMemory())
        return profile(self.plan, self.swap.bound(made), self.program, given, rounds, journal.checkpoint)

    def __repr__(self) -> str:
        return f"<{self.half} half: {len(self.compiled.steps)} steps>"


class TrainingStep:
    """The halves of the step that was compiled last, and the joint graph that they were cut out of."""

    def __init__(self, options: Options, journal: Journal, run: Callable[[], object]) -> None:
        """`run` runs the step once, when it has been compiled."""
        self.halves: dict[Half, TrainingHalf] = {}
        self._run = run
        self.backend = Backend(options, journal, step=self._build)

    def _build(
        self,
        half: Half,
        graph: Graph,
        weights: Sequence[int],
        memory: StepMemory,
        options: Options,
        journal: Journal,
        threads: int,
    ) -> HotSwapProgram:
        made = self.halves[half] = TrainingHalf(half, graph, weights, memory, options, journal, threads, self._run)
        return made.swap

    @property
    def joint(self) -> JointGraph:
        if self.backend.joint is None:
            raise Problem("STR001", "the step was divided by torch's own partition",
                          help="the journal says why: session.journal.explain()")  # fmt: skip
        return self.backend.joint

    def stored(self, target: Target) -> tuple[StoredValue, ...]:
        """The values of forward that backward needs, in the graph's order: stored, or computed again."""
        joint = self.joint
        costs = Rematerialization(joint, target)
        stored = {node.name for node in joint.handed_over}
        needed = stored | {node.name for node in joint.computed_again}
        return tuple(_value(node, node.name in stored, costs) for node in joint.graph.nodes if node.name in needed)


def _value(node: Node, stored: bool, costs: Rematerialization) -> StoredValue:
    keep, compute = (None if one == INFINITE else one for one in (costs.keeping(node), costs.computing(node)))
    other: Pass = Recompute(node.name) if stored else Keep(node.name)
    able = other if other.check(costs.joint) else None
    size = sum(t.bytes for t in node.types)
    return StoredValue(node.name, ", ".join(map(str, node.types)), size, stored, keep, compute, node.origins, able)


def with_passes(options: Options, passes: Sequence[Pass]) -> Options:
    """The options with more passes on what a step keeps."""
    for one in passes:
        if one.level != "partition":
            raise Problem("STR301", f"{one}: only keep{{…}} and recompute{{…}} decide what a step stores",
                          help="session.halves has the programs that other passes change")  # fmt: skip
    return replace(options, partition=" ".join(filter(None, (options.partition, *map(str, passes)))))
