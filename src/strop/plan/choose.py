"""Level 4: the whole program. Layouts for tensors, a schedule for every nest, memory for everything.

The result is a `Plan`: calls of scheduled nests in order, over buffers with known places. Nests that differ only in
names are scheduled and emitted once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Union

from strop.core.journal import Journal
from strop.core.passes import Pass
from strop.core.target import Target
from strop.loops.ir import Buffer, Load, Nest, Store, replace_loads
from strop.loops.layout import Layout
from strop.loops.lower.driver import LibraryCall, Lowered, Step
from strop.loops.primitives import Pack, ready
from strop.plan.layouts import choose_layouts
from strop.plan.memory import Arena, plan_memory
from strop.plan.schedule import schedule


@dataclass(frozen=True)
class Call:
    """A scheduled nest (with canonical names) and the buffers that it runs on."""

    name: str
    nest: Nest
    actual: Mapping[Buffer, Buffer]
    source: Nest
    passes: tuple[Pass, ...] = ()

    @property
    def touched(self) -> tuple[Buffer, ...]:
        return tuple(self.actual.values())


@dataclass
class Plan:
    """Everything that code generation and the runtime need to know."""

    prepare: list[Call]
    steps: list[Union[Call, LibraryCall]]
    inputs: tuple[Buffer, ...]
    params: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    constants: Mapping[Buffer, tuple[object, ...]]
    arena: Arena
    packed: Arena
    threads: int
    layouts: Mapping[str, Layout] = field(default_factory=dict)


def plan(lowered: Lowered, target: Target, threads: int, *, pack: bool = True, journal: Journal) -> Plan:
    """Choose for the whole program."""
    once, steps = split_parameters(list(lowered.nests))
    chosen = choose_layouts(steps)
    for name, layout in chosen.layouts.items():
        journal.add("choice", name, "channels last" + (", zeros around" if layout.zeros(0) else ""))
    scheduler = _Scheduler(target, threads, pack, journal)
    prepare = [call for nest in once for part in scheduler.calls(nest) for call in part]
    made: list[Union[Call, LibraryCall]] = []
    for step in chosen.steps:
        if isinstance(step, LibraryCall):
            journal.add("fallback", step.name, f"{step.target} runs in the library: {step.why}", target=step.target)
            made.append(step)
            continue
        copies, calls = scheduler.calls(step)
        prepare += copies
        made += calls
    library = {b for step in made if isinstance(step, LibraryCall) for b in step.outputs}
    arena = plan_memory([[b for b in _touched(step) if b not in library] for step in made])
    used = frozenset(b for step in made for b in _touched(step) if b.space == "packed")
    packed = plan_memory([call.touched for call in prepare], "packed", used)
    return Plan(
        prepare,
        made,
        lowered.inputs,
        lowered.params,
        lowered.outputs,
        lowered.constants,
        arena,
        packed,
        threads,
        chosen.layouts,
    )


def _touched(step: Union[Call, LibraryCall]) -> tuple[Buffer, ...]:
    return step.touched if isinstance(step, Call) else (*step.inputs, *step.outputs)


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


def rename(nest: Nest, new: Mapping[Buffer, Buffer]) -> Nest:
    """The nest over other buffers."""
    if not any(b in new for b in (*nest.reads, *nest.writes)):
        return nest

    def read(load: Load) -> Load:
        return replace(load, buffer=new[load.buffer]) if load.buffer in new else load

    def change(store: Store) -> Store:
        index = Load(store.target, store.index)
        moved = replace_loads(index, read)
        assert isinstance(moved, Load)
        value = replace_loads(store.value, read)
        if moved is index and value is store.value:
            return store
        return replace(store, target=moved.buffer, index=moved.index, value=value)

    return nest.map_stores(change)


class _Scheduler:
    """Schedules nests, each distinct one once."""

    def __init__(self, target: Target, threads: int, pack: bool, journal: Journal) -> None:
        self.target, self.threads, self.pack, self.journal = target, threads, pack, journal
        self.known: dict[Nest, tuple[tuple[Nest, ...], tuple[Nest, ...], tuple[Pass, ...]]] = {}

    def calls(self, nest: Nest) -> tuple[list[Call], list[Call]]:
        """Calls for the parameter program (packed operands) and calls of the nest itself."""
        canonical, actual = canonicalise(nest)
        if canonical not in self.known:
            recipe = schedule(canonical, self.target, self.threads, self.pack)
            verdict = ready(recipe.nest)
            if not verdict:
                raise AssertionError(f"the schedule of {nest.name} can't be emitted: {verdict.why}\n{recipe.nest}")
            self.known[canonical] = (_pieces(recipe.nest), tuple(recipe.copies), tuple(recipe.passes))
        pieces, copies, passes = self.known[canonical]
        before: list[Call] = []
        for copy in copies:
            target = copy.writes[0]
            source = actual[copy.reads[0]]
            real = Buffer(f"{nest.name}:{source.name}", target.dtype, target.shape, "packed")
            actual = {**actual, replace(target): real}
            moved = replace(
                rename(copy, {target: real, copy.reads[0]: source}), name=f"{nest.name}.pack", origin=nest.origin
            )
            before += self.calls(moved)[1]
        passes = tuple(_named(one, nest, actual) for one in passes)
        self.journal.add("choice", nest.name, " ".join(map(str, passes)) or "as it is", loops=len(nest.all_loops))
        made = []
        for i, piece in enumerate(pieces):
            name = nest.name if not i else f"{nest.name}.{i}"
            made.append(Call(name, piece, {b: actual[b] for b in (*piece.reads, *piece.writes)}, nest, passes))
        return before, made


def _pieces(nest: Nest) -> tuple[Nest, ...]:
    """A nest without loops whose parts are divided among threads is called part by part."""
    parts = [item for item in nest.body if isinstance(item, Nest)]
    if nest.loops or nest.scratch or len(parts) != len(nest.body):
        return (nest,)
    if not any(part.loops and part.loops[0].mode == "threads" for part in parts):
        return (nest,)
    return tuple(replace(part, name=f"{nest.name}.{i}") for i, part in enumerate(parts))


def _named(one: Pass, nest: Nest, actual: Mapping[Buffer, Buffer]) -> Pass:
    """A pass on canonical names as a pass on the names that people see."""
    if isinstance(one, Pack):
        names = {b.name: real.name for b, real in actual.items()}
        return replace(one, nest=nest.name, buffer=names.get(one.buffer, one.buffer))
    return replace(one, nest=nest.name)  # type: ignore[call-arg]


def canonicalise(nest: Nest) -> tuple[Nest, dict[Buffer, Buffer]]:
    """The nest with names that say nothing, and which buffer each stands for."""
    found = list(dict.fromkeys((*nest.reads, *nest.writes)))
    new = {b: Buffer(f"b{i}", b.dtype, b.shape, b.space) for i, b in enumerate(found)}
    plain = replace(_anonymous(rename(nest, new)), name="k")
    return plain, {short: b for b, short in new.items()}


def _anonymous(nest: Nest) -> Nest:
    from strop.graph.ir import NOWHERE

    body = tuple(_anonymous(item) if isinstance(item, Nest) else item for item in nest.body)
    return replace(nest, body=body, name="", origin=NOWHERE, note="")
