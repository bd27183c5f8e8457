"""The planners: which passes a program gets, step by step.

A planner is a function from a program to the same program some passes later. It decides; passes do. `PIPELINE` is the
compiler from the captured graph to a plan, on one screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from strop.core.journal import Journal
from strop.core.passes import Level, Pass
from strop.core.problem import Problem
from strop.graph.passes.simplify import simplified
from strop.loops.lower.graph import library_nodes
from strop.loops.lowered import require_numbers
from strop.loops.passes.fusion import Hoist
from strop.schedule.algorithms import choose_algorithms
from strop.schedule.fuse import fused
from strop.schedule.layouts import choose_layouts
from strop.schedule.lowering import ChooseAlgorithm, Library, Lower, kind_of, written
from strop.schedule.memory import plan_memory
from strop.schedule.program import Program
from strop.schedule.scheduler import chosen_schedules
from strop.schedule.sliding_window import plan_windows

Edits = Mapping[Level, Sequence[Pass]]
Planner = Callable[[Program, Journal, Sequence[Pass]], Program]


def simplify_graph(program: Program, journal: Journal, edits: Sequence[Pass] = ()) -> Program:
    """Level 1: the same program in fewer, larger operators."""
    graph, passes = simplified(program.graph, journal, check=program.options.check)
    choices = replace(program.choices, graph=graph)
    return program.having(choices=choices, history=(*program.history, *passes)).then(*edits, check=True)


def choose_lowerings(program: Program, journal: Journal, edits: Sequence[Pass] = ()) -> Program:
    """Level 2: an algorithm for every node, or the library."""
    choices = program.choices
    found = choose_algorithms(choices.graph, choices.target, choices.threads, choices.options, journal)
    passes: list[Pass] = [ChooseAlgorithm(node.name, kind_of(one), written(one)) for node, one in found.items()]
    passes += [Library(node.name, why) for node, why in library_nodes(choices.graph).items()]
    return program.then(*passes).then(*edits, check=True)


def lower_graph(program: Program, journal: Journal, edits: Sequence[Pass] = ()) -> Program:
    """Nodes become nests. What later planners have to keep to is said of these."""
    return program.then(Lower(), check=program.options.check).then(*edits, check=True)


def fuse_nests(program: Program, journal: Journal, edits: Sequence[Pass] = ()) -> Program:
    """Level 3: buffers that need not exist."""
    lowered, passes = fused(program.nests, journal, keep=program.options.pack, apart=program.apart)
    return program.having(lowered=lowered, history=(*program.history, *passes))


def hoist_parameters(program: Program, journal: Journal, edits: Sequence[Pass] = ()) -> Program:
    """What parameters alone decide is computed once. Passes by hand come first: what they copy may be that, too."""
    return program.then(*edits, check=True).then(Hoist())


def lay_out_tensors(program: Program, journal: Journal, edits: Sequence[Pass] = ()) -> Program:
    """Level 4: a layout for every tensor, with the loops that it allows."""
    lanes, scheduler = program.target.lanes("f32"), program.scheduler
    policy, pinned = program.options.layouts, program.pinned
    lowered, passes = choose_layouts(
        program.nests, lanes, scheduler.price, policy, journal, pinned, scheduler.careful_price
    )
    return program.having(lowered=lowered, history=(*program.history, *passes))


def schedule_nests(program: Program, journal: Journal, edits: Sequence[Pass] = ()) -> Program:
    """Level 4: loops for every nest."""
    by_nest: dict[str, tuple[Pass, ...]] = {}
    for one in edits:
        name = one.nest  # type: ignore[attr-defined]
        by_nest[name] = (*by_nest.get(name, ()), one)
    schedules, scheduled = chosen_schedules(program.nests, program.scheduler, by_nest, release=program.options.release)
    _check_names(by_nest, schedules)
    for step in program.nests.library:
        journal.add("fallback", step.name, f"{step.target} runs in the library: {step.why}", target=step.target)
    for name, passes in schedules.items() if journal.keeps else ():
        journal.add("choice", name, " ".join(map(str, passes)) or "as it is")
    history = (*program.history, *(one for passes in schedules.values() for one in passes))
    made = program.having(schedules=schedules, history=history)
    made.__dict__["scheduled"] = scheduled
    return made


def _check_names(edits: Mapping[str, object], names: Mapping[str, object]) -> None:
    """Edits of a nest that there is not are a mistake."""
    missing = next((name for name in edits if name not in names), None)
    if missing is not None:
        near = get_close_matches(missing, names, 3) or list(names)[:6]
        raise Problem("STR304", f"there is no nest `{missing}`", help=f"near it: {', '.join(near)}")


def interleave_nests(program: Program, journal: Journal, edits: Sequence[Pass] = ()) -> Program:
    """Level 4: nests that hand large tensors on take turns, a few rows at a time."""
    if program.options.strips:
        steps = program.scheduled.steps
        program = program.then(*plan_windows(steps, program.target, program.threads, journal))
    return program.then(*edits, check=True)


def place_tensors(program: Program, journal: Journal, edits: Sequence[Pass] = ()) -> Program:
    """Level 4: a place in memory for every tensor."""
    return program.then(*plan_memory(program.lifetimes)).then(*edits, check=True)


@dataclass(frozen=True)
class PlannerStep:
    """A named step of the pipeline; `level` is that of the passes by hand which go with it. Those are `appended` where
    they make no difference to what the planner chooses."""

    name: str
    planner: Planner
    level: Level | None = None
    appended: bool = False


PIPELINE: tuple[PlannerStep, ...] = (
    PlannerStep("simplify", simplify_graph, "graph", appended=True),
    PlannerStep("choose algorithms", choose_lowerings, "lowering", appended=True),
    PlannerStep("lower", lower_graph, "constraints", appended=True),
    PlannerStep("fuse", fuse_nests),
    PlannerStep("hoist", hoist_parameters, "nests"),
    PlannerStep("lay out", lay_out_tensors),
    PlannerStep("schedule", schedule_nests, "loops"),
    PlannerStep("interleave", interleave_nests, "windows", appended=True),
    PlannerStep("place", place_tensors, "memory", appended=True),
)


#: steps of extensions by name, each with the step that it follows
ADDED: dict[str, tuple[PlannerStep, str]] = {}


def steps() -> tuple[PlannerStep, ...]:
    """The pipeline with the steps of extensions."""
    found: list[PlannerStep] = []
    for step in PIPELINE:
        found += (step, *(added for added, after in ADDED.values() if after == step.name))
    return tuple(found)


Hook = Callable[[Program], Iterable[Pass] | None]


class Hooks:
    """Functions that see a program before or after a step of the pipeline. Passes that one returns are checked and
    applied, as if by hand.

        hooks.before("fuse", lambda program: print(program.nests))
        hooks.after("simplify", lambda program: [Rewrite("my rule")])
    """

    def __init__(self) -> None:
        self._hooks: dict[tuple[str, str], list[Hook]] = {}

    def before(self, step: str, hook: Hook) -> None:
        self._add("before", step, hook)

    def after(self, step: str, hook: Hook) -> None:
        self._add("after", step, hook)

    def _add(self, when: str, step: str, hook: Hook) -> None:
        names = [known.name for known in steps()]
        if step not in names:
            raise Problem("STR001", f"there is no step `{step}`", help=f"steps are: {', '.join(names)}")
        self._hooks.setdefault((when, step), []).append(hook)

    def run(self, when: str, step: str, program: Program) -> Program:
        for hook in self._hooks.get((when, step), ()):
            program = program.then(*_passes_of(hook, f"{when} `{step}`", program), check=True)
        return program

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def first(self) -> str | None:
        """The first step that has a hook."""
        hooked = {step for _, step in self._hooks}
        return next((known.name for known in steps() if known.name in hooked), None)


def _passes_of(hook: Hook, place: str, program: Program) -> list[Pass]:
    """The passes that a hook returns; a Problem that names it where it fails or returns something else."""
    what = f"the hook `{getattr(hook, '__qualname__', hook)}` {place}"
    help = "a hook returns passes, or None; the session is as it was"
    try:
        found = list(hook(program) or ())
    except Problem:
        raise
    except Exception as error:
        raise Problem("STR012", f"{what} raised {type(error).__name__}: {error}", help=help) from error
    strange = next((one for one in found if not isinstance(one, Pass)), None)
    if strange is not None:
        raise Problem("STR012", f"{what} returned {strange!r:.60}", help=help)
    return found


def planned(
    program: Program,
    journal: Journal,
    edits: Sequence[Pass] = (),
    first: str = PIPELINE[0].name,
    hooks: Hooks | None = None,
    pipeline: Sequence[PlannerStep] | None = None,
    chosen: Program | None = None,
) -> dict[str, Program]:
    """A program through the pipeline, from the step called `first` on: what it is after each step. `edits` are passes
    by hand: each comes after what the planner of its level has chosen. Steps of extensions are among the steps, unless
    the `pipeline` is given. What the planner of the first step has `chosen` already is not chosen again."""
    pipeline = steps() if pipeline is None else pipeline
    names = [step.name for step in pipeline]
    made: dict[str, Program] = {}
    for step in pipeline[names.index(first) :]:
        by_hand = [one for one in edits if one.level == step.level]
        with journal.step(step.name):
            program = hooks.run("before", step.name, program) if hooks else program
            if program.lowered is not None:
                require_numbers(program.lowered)
            if chosen is not None and step.name == first:
                program = chosen.then(*by_hand, check=True)
            else:
                program = step.planner(program, journal, by_hand)
            program = made[step.name] = hooks.run("after", step.name, program) if hooks else program
            if program.options.check:
                program.verify(step.name)
    return made
