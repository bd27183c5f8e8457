"""The compiler on one screen: an operator graph in, object code and a list of steps out.

    graph → simplify → lower → fuse → plan → emit → object code

What comes out is plain data (`Artifact`), which is stored under the hash of what it depends on.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

from strop.codegen import object_code
from strop.codegen.locations import LocatedInstruction, Locations, located
from strop.codegen.module import BufferPlaces, Functions, build_module, function_text
from strop.core.cache import Cache
from strop.core.extensions import registry
from strop.core.garbage import short_lived
from strop.core.journal import Journal
from strop.core.memoize import forget
from strop.core.options import Options
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.driver import artifact_format
from strop.driver.artifact import (
    About,
    Argument,
    Artifact,
    ConstantValues,
    InArena,
    InPacked,
    LibraryStep,
    NativeStep,
    Output,
    PackedTensor,
    ParameterSection,
    Slot,
    native_entry,
)
from strop.driver.cache_key import cache_key
from strop.driver.child_process import made_in_child
from strop.graph.ir import Graph, Type
from strop.loops.calls import Call
from strop.loops.ir import Buffer, Nest, watches
from strop.loops.lowered import LibraryCall, Lowered
from strop.schedule import planners
from strop.schedule.memory import room
from strop.schedule.planners import PIPELINE, Hooks, planned
from strop.schedule.program import Plan, Program
from strop.schedule.window_chain import InterleavedCalls
from strop.target import host
from strop.target.description import Target


@dataclass
class Stages:
    """Everything on the way, for people who look inside."""

    programs: Mapping[str, Program]  # after each step of the pipeline
    functions: Functions | None = None  # what code generation made of their nests

    @property
    def program(self) -> Program:
        """As it is after the last step."""
        return list(self.programs.values())[-1]

    @property
    def graph(self) -> Graph:
        return self.program.graph

    @property
    def lowered(self) -> Lowered:
        """Nests after fusion, before layouts and schedules."""
        return self.programs["fuse"].nests

    @property
    def plan(self) -> Plan:
        return self.program.plan


EMULATED = "@host"  # after a target's name: planned for that machine, in instructions of this one


def target_for(options: Options) -> Target:
    registry.load()
    if not options.target:
        return host.host()
    if options.target.endswith(EMULATED):
        return Target.find(options.target.removesuffix(EMULATED)).emulated_on(host.described_host())
    return Target.find(options.target)


def compile_graph(
    graph: Graph, options: Options, journal: Journal, threads: int, inspect: Callable[[Stages], None] | None = None
) -> Artifact:
    """The program for a graph, from the cache where it is known, unless its making is to be checked; `inspect` sees the
    stages of one that was not found there."""
    target = target_for(options)
    cache = Cache(journal=journal) if options.cache else None
    key = cache_key(graph, target, options, threads)
    compiled = stored(cache, key) if cache is not None and not options.check else None
    if compiled is None:

        def make(told: Journal) -> bytes:
            return _made(graph, target, options, told, threads, inspect)

        with short_lived():
            alone = options.release and inspect is None  # what a child makes cannot be inspected here
            data = made_in_child(make, journal) if alone else make(journal)
        compiled = artifact_format.from_bytes(data)  # its objects lie together, not among those that are gone by now
        if cache is not None:
            cache.put(key, data)
    tell_memory(compiled, journal)
    return compiled


def _made(
    graph: Graph,
    target: Target,
    options: Options,
    journal: Journal,
    threads: int,
    inspect: Callable[[Stages], None] | None,
) -> bytes:
    stages = run_stages(graph, target, options, journal, threads)
    data = artifact_format.to_bytes(generate(stages, target, journal))
    if inspect is not None:
        inspect(stages)
    else:
        forget()  # whoever looks inside will ask again
    return data


def tell_memory(compiled: Artifact, journal: Journal) -> None:
    journal.add("note", "memory", compiled.memory, arena_bytes=compiled.arena_bytes, packed_bytes=compiled.packed_bytes)


def stored(cache: Cache, key: str) -> Artifact | None:
    """The program that the cache holds; where it holds something else, that is deleted and the journal says so."""
    data = cache.get(key)
    if data is None:
        return None
    try:
        return artifact_format.from_bytes(data)
    except Problem as problem:
        cache.discard(key, f"cannot be used ({problem.message})")
        return None


def run_stages(
    graph: Graph, target: Target, options: Options, journal: Journal, threads: int, edits: Sequence[Pass] = ()
) -> Stages:
    """Every step before code generation. Under `check`, what each made is verified. `edits` are passes by hand."""
    program = Program.of(graph, target, threads, options)
    if options.check:
        program.verify("capture")
    return Stages({"capture": program, **planned(program, journal, edits)})


def plan_nests(
    lowered: Lowered, target: Target, options: Options, journal: Journal, threads: int, edits: Sequence[Pass] = ()
) -> Stages:
    """The same for nests that are there already, from fused nests on: our own, which extensions leave alone."""
    program = Program.of(Graph((), (), ()), target, threads, options, lowered)
    return Stages({"fuse": program, **planned(program, journal, edits, "hoist", pipeline=PIPELINE)})


def replanned(stages: Stages, journal: Journal, edits: Sequence[Pass], hooks: Hooks | None = None) -> Stages:
    """The stages of a program without passes by hand, with these: from the first step on that they or hooks reach."""
    levels = {one.level for one in edits}
    hooked = hooks.first() if hooks else None
    steps = planners.steps()
    reached = next((step for step in steps if step.level in levels or step.name == hooked), None)
    if reached is None:
        return stages
    first = reached.name
    order = ["capture", *(step.name for step in steps)]
    before = {name: stages.programs[name] for name in order[: order.index(first)] if name in stages.programs}
    if not before:
        raise Problem("STR301", f"{edits[0]}: there is no graph, only nests")
    chosen = stages.programs[first] if reached.appended and not hooks else None
    return Stages({**before, **planned(list(before.values())[-1], journal, edits, first, hooks, chosen=chosen)})


#: what of a program is compiled
Part = Literal["whole", "steps", "parameters"]
#: does nothing; what calling it costs is what calling any entry costs
IDLE = "strop_idle"


TELLS = 0.25  # seconds between two messages of how far a step is


class _Pace:
    """How far a step is, now and then."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._last = journal, time.monotonic()

    def __call__(self, text: str) -> None:
        if time.monotonic() - self._last >= TELLS:
            self._journal.progress(text)
            self._last = time.monotonic()


def generate(
    stages: Stages,
    target: Target,
    journal: Journal,
    *,
    separate: bool = False,
    known: Functions | None = None,
    part: Part = "whole",
) -> Artifact:
    """Object code and the steps that use it. With `separate`, every nest is a step of its own, to be timed alone; nests
    that take turns are one step. What is `known` is not emitted and compiled again. A `part` is for a program in a
    file: its steps with a pool of threads of their own, within reach of each other; or its parameter program alone."""
    planned, slots = stages.plan, _slots(stages.plan)
    functions = stages.functions = known if known is not None else Functions()
    steps, entries, places = _entries(planned, slots, separate)
    packings = [packing.calls for packing in planned.packings]
    if part == "steps":
        packings = []
    elif part == "parameters":
        steps, entries = [], {}
    # LLVM works on what is emitted while the rest is: it holds no lock of Python's
    pool, compiling = ThreadPoolExecutor(1, "strop-compile"), dict[str, Future[bytes]]()
    tell = _Pace(journal)

    def finished(text: str) -> None:
        compiling[text] = pool.submit(object_code.compile_object, text, target)
        tell(f"emit: {len(compiling)} parts")

    try:
        with journal.step("emit"):
            module = build_module(entries, places, target, packings, functions, part == "steps", finished)
        with journal.step("compile"):
            *nests, start = module.parts
            for done, (text, future) in enumerate(compiling.items(), 1):
                functions.objects[text] = future.result()
                tell(f"compile: {done} of {len(compiling)} parts")
            for text in nests:
                if text not in functions.objects:
                    functions.objects[text] = object_code.compile_object(text, target)
            last = object_code.compile_object(start, target, far=part != "steps")
            code = [*(functions.objects[text] for text in nests), last]
    finally:
        pool.shutdown(cancel_futures=True)
    made = {b for step in planned.steps if isinstance(step, LibraryCall) for b in step.outputs}
    placed = tuple((slots[b], offset) for b, offset in planned.arena.offsets.items() if b in slots)
    library: dict[str, int] = {}
    for step in planned.steps:
        if isinstance(step, LibraryCall):
            library[step.target] = library.get(step.target, 0) + 1
    compiled = Artifact(
        code=tuple(code),
        steps=_releasing(steps),
        inputs=tuple(slots[b] for b in planned.inputs),
        params=tuple(slots[b] for b in planned.params),
        direct=_direct(planned),
        outputs=tuple(
            Output(slots[b], Type(b.dtype, b.shape), b in made and b not in planned.arena.offsets)
            for b in planned.outputs
        ),
        slots=len(slots) + 1,
        arena_bytes=planned.arena.bytes,
        placed=placed,
        packed=tuple(PackedTensor(slots[b], room(b)) for b in planned.packed),
        sections=_sections(planned),
        temporary_bytes=max((packing.temporary.bytes for packing in planned.packings), default=0),
        scratch_bytes=module.scratch_bytes,
        threads=planned.threads,
        about=About(
            nodes=len(stages.graph.nodes),
            nests=sum(isinstance(step, Call) for step in planned.steps),
            functions=module.functions,
            threaded=module.threaded,
            library=library,
            unshared_bytes=planned.arena.unshared,
            watches=any(isinstance(step, Call) and watches(step.nest) for step in planned.steps),
            sources=tuple(map(_digest, nests)),
        ),
    )
    if stages.program.options.check:
        compiled.verify()
    return compiled


def functions_of(stages: Stages, compiled: Artifact, target: Target) -> Functions:
    """The functions behind a program that was compiled from these stages. Where it came from the cache they are emitted
    again, and its object code is taken for every part whose text is the one that it was made from."""
    if stages.functions is None:
        functions, planned = Functions(), stages.plan
        _, entries, places = _entries(planned, _slots(planned), False)
        build_module(entries, places, target, [packing.calls for packing in planned.packings], functions)
        objects = dict(zip(compiled.about.sources, compiled.code))
        known = {text: _digest(text) for text in functions.parts.values()}
        functions.objects = {text: objects[digest] for text, digest in known.items() if digest in objects}
        stages.functions = functions
    return stages.functions


def code_digest(compiled: Artifact) -> str:
    """Of a program's object code: equal programs have equal ones."""
    return hashlib.sha256(b"".join(compiled.code)).hexdigest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _entries(
    planned: Plan, slots: Mapping[Buffer, int], separate: bool
) -> tuple[list[NativeStep | LibraryStep], dict[str, Sequence[Call | InterleavedCalls]], BufferPlaces]:
    """The steps of a program, what each of their entry functions calls, and where buffers are."""
    alone = [s if isinstance(s, LibraryCall) else [s] for s in planned.sequence]
    entries: dict[str, Sequence[Call | InterleavedCalls]] = {}
    steps: list[NativeStep | LibraryStep] = []
    places = _places(planned, slots)
    native = _native(planned)
    for segment in alone if separate else _segments(planned):
        if isinstance(segment, LibraryCall):
            steps.append(_library_step(segment, places, native))
        else:
            name = native_entry(len(steps))
            entries[name] = segment
            steps.append(NativeStep(name))
    if separate:
        entries[IDLE] = ()
    return steps, entries, places


def assembly(nest: Nest, target: Target) -> str:
    """The machine code of a nest as text."""
    return object_code.assembly(function_text(nest, target), target)


def located_assembly(nest: Nest, target: Target) -> list[LocatedInstruction]:
    """The same instructions one by one, each with the statement of the nest that it was emitted for."""
    return located(object_code.assembly(function_text(nest, target, Locations()), target))


def _places(planned: Plan, slots: Mapping[Buffer, int]) -> BufferPlaces:
    temporary = {b: offset for packing in planned.packings for b, offset in packing.temporary.offsets.items()}
    return BufferPlaces(planned.arena.offsets, temporary, slots, planned.constants, wanted=len(slots))


def _direct(planned: Plan) -> tuple[int, ...]:
    steps = (step.inputs if isinstance(step, LibraryCall) else step.touched for step in planned.sequence)
    read = {b for touched in steps for b in touched}
    return tuple(i for i, b in enumerate(planned.params) if b in read)


def _sections(planned: Plan) -> tuple[ParameterSection, ...]:
    params = {b: i for i, b in enumerate(planned.params)}
    packed = {b: i for i, b in enumerate(planned.packed)}
    return tuple(
        ParameterSection(one.key, tuple(params[b] for b in one.params), tuple(packed[b] for b in one.kept))
        for one in planned.packings
    )


def _slots(planned: Plan) -> dict[Buffer, int]:
    """The caller's pointer table: inputs, parameters, outputs, what library calls make, what parameters make."""
    made = [b for step in planned.steps if isinstance(step, LibraryCall) for b in step.outputs]
    held = (*planned.inputs, *planned.params, *planned.outputs, *made, *planned.packed)
    return {b: i for i, b in enumerate(dict.fromkeys(held))}


def _segments(planned: Plan) -> list[list[Call | InterleavedCalls] | LibraryCall]:
    """Runs of native calls between library calls."""
    found: list[list[Call | InterleavedCalls] | LibraryCall] = []
    for step in planned.sequence:
        if isinstance(step, LibraryCall):
            found.append(step)
        elif found and isinstance(found[-1], list):
            found[-1].append(step)
        else:
            found.append([step])
    return found


def _native(planned: Plan) -> set[Buffer]:
    """What generated code or the caller sees, and therefore has to lie as its layout says."""
    strips = [call for group in planned.strips.values() for call in group.calls]
    calls = [step for step in (*planned.steps, *strips) if isinstance(step, Call)]
    return {*planned.outputs, *(buffer for call in calls for buffer in call.touched)}


def _library_step(call: LibraryCall, places: BufferPlaces, native: set[Buffer]) -> LibraryStep:
    def where(buffer: Buffer) -> Slot | InArena | InPacked | ConstantValues:
        if buffer in places.slots:
            return (InPacked if buffer.space == "packed" else Slot)(places.slots[buffer])
        if buffer in places.constants:
            return ConstantValues.of(places.constants[buffer], buffer.dtype)
        return InArena(places.arena[buffer])

    inputs = tuple(Argument(Type(b.dtype, b.shape), where(b)) for b in call.inputs)
    # the arena is written again while the call goes on: nothing that outlives the step may lie in it
    views = native.isdisjoint(call.outputs) and not any(isinstance(one.place, InArena) for one in inputs)
    outputs = tuple(places.slots[b] for b in call.outputs)
    return LibraryStep(call.node.op, dict(call.node.attrs), call.node.types, inputs, outputs, views)


def _releasing(steps: Sequence[NativeStep | LibraryStep]) -> tuple[NativeStep | LibraryStep, ...]:
    """Library steps with what nobody uses after them: the next ones take its memory, which is in the caches still."""
    loose = {slot for step in steps if isinstance(step, LibraryStep) and step.views for slot in step.outputs}
    later: set[int] = set()
    found = []
    for step in reversed(steps):
        if isinstance(step, LibraryStep):
            used = {one.place.slot for one in step.inputs if isinstance(one.place, Slot)} | set(step.outputs)
            step = replace(step, releases=tuple(sorted((used & loose) - later)))
            later |= used
        found.append(step)
    return tuple(found[::-1])
