"""Level 4: the whole program. Layouts for tensors, a schedule for every nest, memory for everything.

The result is a `Plan`: calls of scheduled nests in order, over buffers with known places. Nests that differ only in
names are scheduled and emitted once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from strop.core.config import Layouts
from strop.core.journal import Journal
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.core.target import Target
from strop.loops.ir import Buffer, Nest
from strop.loops.layout import Layout
from strop.loops.lower.driver import LibraryCall, Lowered, Step
from strop.loops.packing import Pack, Prefetch, PrefetchNext
from strop.loops.primitives import Plain, ready
from strop.loops.verify import verify
from strop.plan.calls import Call, PlannedStep, canonicalise, rename
from strop.plan.cost import guess
from strop.plan.layouts import choose_layouts
from strop.plan.memory import Arena, plan_memory
from strop.plan.parameters import Packing, divide
from strop.plan.recipe import Recipe
from strop.plan.schedule import schedule
from strop.plan.strips import Strips, in_strips, together
from strop.plan.through import through_packed


@dataclass
class Plan:
    """Everything that code generation and the runtime need to know."""

    prepare: list[Call]
    steps: list[PlannedStep]
    strips: Mapping[int, Strips]
    inputs: tuple[Buffer, ...]
    params: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    constants: Mapping[Buffer, tuple[object, ...]]
    arena: Arena
    packed: tuple[Buffer, ...]  # what steps read of what the parameter program makes, in the order of its use
    packings: tuple[Packing, ...]
    threads: int
    layouts: Mapping[str, Layout] = field(default_factory=dict)

    @property
    def packed_bytes(self) -> int:
        return sum(packing.bytes for packing in self.packings)

    @property
    def sequence(self) -> list[PlannedStep | Strips]:
        """The steps as they run: those that take turns as one."""
        return together(self.steps, self.strips)


def plan(
    lowered: Lowered,
    target: Target,
    threads: int,
    *,
    pack: bool = True,
    strips: bool = True,
    journal: Journal,
    edits: Sequence[Pass] = (),
    layouts: Layouts = "joint",
    check: bool = False,
    release: bool = False,
) -> Plan:
    """Choose for the whole program. `edits` are passes on nests, by hand, after those that are chosen for them. With
    `check`, the nests are verified once they have layouts. With `release`, packed copies stand in for parameters of
    which little is read as it is."""
    once, steps = split_parameters(list(lowered.nests))
    scheduler = _Scheduler(target, threads, pack, journal, edits)
    chosen = choose_layouts(steps, lowered.layouts, target.lanes("f32"), scheduler.price, layouts)
    if check:
        verify(once, "layouts")
        verify(chosen.steps, "layouts", (buffer for nest in once for buffer in nest.writes))
    for name, layout in chosen.layouts.items():
        journal.add("choice", name, chosen.names[name] + (", zeros around" if layout.padded else ""))
    prepare = [call for nest in once for part in scheduler.calls(nest) for call in part]
    made: list[PlannedStep] = []
    for step in chosen.steps:
        if isinstance(step, LibraryCall):
            journal.add("fallback", step.name, f"{step.target} runs in the library: {step.why}", target=step.target)
            made.append(step)
            continue
        copies, calls = scheduler.calls(step)
        prepare += copies
        made += calls
    for position, nest in through_packed(made, prepare).items() if release else ():
        journal.add("choice", nest.name, "reads a parameter through its packed copy, so that the parameter can go")
        copies, (made[position],) = scheduler.calls(nest)
        prepare += copies
    scheduler.check_names()
    library = {b for step in made if isinstance(step, LibraryCall) for b in step.outputs}
    groups: Mapping[int, Strips] = {}
    if strips:
        made, groups = in_strips(made, target, threads, journal)
    arena = plan_memory([[b for b in _touched(step) if b not in library] for step in together(made, groups)])
    used = tuple(dict.fromkeys(b for step in made for b in _touched(step) if b.space == "packed"))
    packings = divide(prepare, used, lowered.constants)
    return Plan(
        [call for packing in packings for call in packing.calls],
        made,
        groups,
        lowered.inputs,
        lowered.params,
        lowered.outputs,
        lowered.constants,
        arena,
        used,
        packings,
        threads,
        {**lowered.layouts, **chosen.layouts},
    )


def _touched(step: PlannedStep | Strips) -> tuple[Buffer, ...]:
    return (*step.inputs, *step.outputs) if isinstance(step, LibraryCall) else step.touched


def split_parameters(steps: list[Step]) -> tuple[list[Nest], list[Step]]:
    """Nests that read nothing but parameters run once; what they write is kept in the space `packed`."""
    shared = _written_per_call(steps)
    kept: dict[Buffer, Buffer] = {}
    once: list[Nest] = []
    rest: list[Step] = []
    for step in steps:
        if isinstance(step, LibraryCall):
            rest.append(replace(step, inputs=tuple(kept.get(b, b) for b in step.inputs)))
            continue
        step = rename(step, kept)
        constant = all(b.space in ("param", "packed", "const") for b in step.reads)
        if constant and all(b.space in ("arena", "packed") for b in step.writes) and not set(step.writes) & shared:
            new = {b: replace(b, space="packed") for b in step.writes}
            kept.update(new)
            once.append(rename(step, new))
            continue
        rest.append(step)
    return once, rest


def _written_per_call(steps: list[Step]) -> set[Buffer]:
    """Buffers that several steps fill, not all of them from parameters alone."""
    changing: set[Buffer] = set()
    for step in steps:
        if isinstance(step, LibraryCall):
            changing.update(step.outputs)
        elif any(b.space not in ("param", "const") and (b.space != "arena" or b in changing) for b in step.reads):
            changing.update(step.writes)
    return changing


class _Scheduler:
    """Schedules nests, each distinct one once."""

    def __init__(self, target: Target, threads: int, pack: bool, journal: Journal, edits: Sequence[Pass] = ()) -> None:
        self.target, self.threads, self.pack, self.journal = target, threads, pack, journal
        self.known: dict[object, tuple[Nest, tuple[Nest, ...], tuple[Pass, ...]]] = {}
        self.edits: dict[str, list[Pass]] = {}
        for one in edits:
            self.edits.setdefault(one.nest, []).append(one)  # type: ignore[attr-defined]
        self.names: list[str] = []
        self.packed: dict[tuple[Buffer, Nest], Buffer] = {}
        self.recipes: dict[Nest, Recipe] = {}
        self.prices: dict[Nest, float] = {}

    def price(self, nest: Nest) -> float:
        """Cycles that the model guesses for a nest under the schedule that it would get."""
        canonical, _ = canonicalise(nest)
        if canonical not in self.prices:
            self.prices[canonical] = guess(self._scheduled(canonical).nest, self.target, self.threads).cycles
        return self.prices[canonical]

    def _scheduled(self, canonical: Nest) -> Recipe:
        if canonical not in self.recipes:
            self.recipes[canonical] = schedule(canonical, self.target, self.threads, self.pack)
        made = self.recipes[canonical]
        return replace(made, passes=list(made.passes), copies=list(made.copies))

    def check_names(self) -> None:
        """Edits of a nest that there is not are a mistake."""
        missing = [name for name in self.edits if name not in self.names]
        if missing:
            near = get_close_matches(missing[0], self.names, 3) or self.names[:6]
            raise Problem("STR304", f"there is no nest `{missing[0]}`", help=f"near it: {', '.join(near)}")

    def calls(self, nest: Nest) -> tuple[list[Call], list[Call]]:
        """Calls for the parameter program (packed operands) and calls of the nest itself."""
        canonical, actual = canonicalise(nest)
        self.names.append(nest.name)
        edits = tuple(anonymised(one, nest, actual) for one in self.edits.get(nest.name, ()))
        key = (canonical, edits)
        if key not in self.known:
            recipe = self._recipe(nest, canonical, actual, edits)
            verdict = ready(recipe.nest)
            if not verdict and edits:
                raise Problem("STR301", f"this schedule can't be emitted: {verdict.why}", where=nest.name)
            if not verdict:
                raise AssertionError(f"the schedule of {nest.name} can't be emitted: {verdict.why}\n{recipe.nest}")
            self.known[key] = (recipe.nest, tuple(recipe.copies), tuple(recipe.passes))
        scheduled, copies, passes = self.known[key]
        before: list[Call] = []
        for copy in copies:
            target = copy.writes[0]
            source = actual[copy.reads[0]]
            alike = (source, canonicalise(copy)[0])  # weights that several nests read in one order are packed once
            if alike in self.packed:
                actual = {**actual, target: self.packed[alike]}
                continue
            name = f"{nest.name}:{source.name}"
            while any(b.name == name for b in actual.values()):  # another part of it is packed too
                name += ".more"
            real = self.packed[alike] = Buffer(name, target.dtype, target.shape, "packed")
            actual = {**actual, target: real}
            moved = replace(
                rename(copy, {target: real, copy.reads[0]: source}), name=f"{nest.name}.pack", origin=nest.origin
            )
            before += self.calls(moved)[1]
        passes = tuple(renamed(one, nest, actual) for one in passes)
        self.journal.add("choice", nest.name, " ".join(map(str, passes)) or "as it is", loops=len(nest.all_loops))
        touched = {b: actual[b] for b in (*scheduled.reads, *scheduled.writes)}
        return before, [Call(nest.name, scheduled, touched, nest, passes)]

    def _recipe(self, nest: Nest, canonical: Nest, actual: Mapping[Buffer, Buffer], edits: Sequence[Pass]) -> Recipe:
        """The chosen schedule, and what was asked for by hand on top of it (or instead, after `plain`)."""
        if any(isinstance(one, Plain) for one in edits):
            recipe = Recipe(canonical, self.target, self.threads, self.pack)
        else:
            recipe = self._scheduled(canonical)
        for one in edits:
            verdict = one.check(recipe.nest)
            if not verdict:
                raise Problem("STR301", f"{renamed(one, nest, actual)}: {verdict.why}", where=nest.name)
            recipe.do(one)
        return recipe


def renamed(one: Pass, nest: Nest, actual: Mapping[Buffer, Buffer]) -> Pass:
    """A pass on canonical names as a pass on the names that people see."""
    if isinstance(one, Pack | Prefetch | PrefetchNext):
        return replace(one, nest=nest.name, buffer=_packed_names(nest, actual).get(one.buffer, one.buffer))
    return replace(one, nest=nest.name)  # type: ignore[call-arg]


def anonymised(one: Pass, nest: Nest, actual: Mapping[Buffer, Buffer]) -> Pass:
    """The other way round."""
    new = {"nest": "k"}
    if isinstance(one, Pack | Prefetch | PrefetchNext):
        names = {real: short for short, real in _packed_names(nest, actual).items()}
        new["buffer"] = names.get(one.buffer, one.buffer)
    return replace(one, **new)


def _packed_names(nest: Nest, actual: Mapping[Buffer, Buffer]) -> dict[str, str]:
    """Canonical names of buffers and of their packed copies, and those that people see."""
    names = {b.name: real.name for b, real in actual.items()}
    return names | {f"k.{short}": f"{nest.name}:{real}" for short, real in names.items()}
