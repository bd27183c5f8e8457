"""A plan becomes LLVM modules: a function per distinct nest, and entry functions that call them in order.

Several modules rather than one, since LLVM's memory grows with what it compiles at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from strop.codegen.builder import ELEMENT, MEMORY, stored
from strop.codegen.emit import Function, emit
from strop.codegen.locations import Locations
from strop.codegen.thread_team import ENTER, SHARE, TOGETHER, slot, team_functions
from strop.core.runtime_table import SCRATCH, SCRATCH_STRIDE, TABLE
from strop.loops.interleaved import Clear, InterleavedNests, InterleavedStep, Planned, Run
from strop.loops.ir import Buffer, Nest
from strop.target.description import Target

Entry = Sequence[Planned | InterleavedNests]
MEMORY_FUNCTIONS = (
    "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)",
)
PART_CHARACTERS = 400_000  # of LLVM text that is compiled at a time


@dataclass(frozen=True)
class BufferPlaces:
    """Where buffers are: offsets into the arena, slots of the caller's pointer table."""

    arena: Mapping[Buffer, int]
    temporary: Mapping[Buffer, int]  # offsets of what only the parameter program reads, into an arena of its own
    slots: Mapping[Buffer, int]
    constants: Mapping[Buffer, tuple[object, ...]]
    wanted: int = 0  # the slot of a byte per section of the parameter program


@dataclass(frozen=True)
class ModuleText:
    """LLVM text in parts that are compiled one by one, the entry functions in the last; and what they need."""

    parts: tuple[str, ...]
    scratch_bytes: int
    functions: int
    threaded: bool


@dataclass
class Functions:
    """Functions of nests and the object code that holds them, kept while programs of one model are made.

    Those of the first module are numbered and compiled some at a time. A function that a later module adds is named
    after what it computes and compiled by itself, so that a program of which one nest changes is compiled anew in that
    nest and in its entries alone.
    """

    made: dict[Nest, Function] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)  # LLVM text of the part that holds a function, by its name
    objects: dict[str, bytes] = field(default_factory=dict)  # object code of parts, by their text

    def add(self, nests: Iterable[Nest], target: Target, finished: Callable[[str], None]) -> None:
        """Emit those that are not there yet; somebody is told of the text of every part as soon as it is there."""
        first = not self.made
        new = [nest for nest in nests if nest not in self.made]
        functions = (emit(nest, f"nest{i}" if first else _name_of(nest), target) for i, nest in enumerate(new))
        about = attributes(target)
        made: list[Function] = []
        for some in _divided(functions) if first else ([function] for function in functions):
            text = _part([f.text for f in some], [d for f in some for d in f.declarations], about)
            self.parts.update((function.name, text) for function in some)
            made += (replace(function, text="") for function in some)  # a part holds it
            finished(text)
        self.made.update(zip(new, made))


def _name_of(nest: Nest) -> str:
    return f"nest.{hashlib.sha256(repr(nest).encode()).hexdigest()[:16]}"


def build_module(
    entries: Mapping[str, Entry],
    places: BufferPlaces,
    target: Target,
    prepare: Sequence[Sequence[Planned]] = (),
    known: Functions | None = None,
    standalone: bool = False,
    finished: Callable[[str], None] = lambda part: None,
) -> ModuleText:
    """Each entry is `void name(ptr table, ptr arena, ptr slots)`; `prepare` becomes one that runs chosen sections.
    Functions that are `known` are not emitted again, and new ones are added to them. A `standalone` program has a pool
    of threads of its own. `finished` is told of every part but the last as soon as it is emitted."""
    every = chain(chain.from_iterable(prepare), chain.from_iterable(entries.values()))
    calls = [call for step in every for call in (step.calls if isinstance(step, InterleavedNests) else (step,))]
    known = known if known is not None else Functions()
    known.add(dict.fromkeys(call.nest for call in calls), target, finished)
    functions = {call.nest: known.made[call.nest] for call in calls}
    made = list(functions.values())
    parts = list(dict.fromkeys(known.parts[function.name] for function in made))
    globals_ = [_constant(buffer, values) for buffer, values in places.constants.items() if buffer.dtype in ELEMENT]
    starts = _prepare(prepare, functions, places) if prepare else []
    starts += [text for name, steps in entries.items() for text in _entry(name, steps, functions, places)]
    starts += [_launcher(function) for function in made if function.threaded]
    declared = [function.declaration for function in made]
    if standalone:  # one image holds all parts: their addresses need not be looked up
        declared = [text.replace("declare", "declare hidden", 1) for text in declared]
    if any(isinstance(step, InterleavedNests) for steps in entries.values() for step in steps):
        declared += MEMORY_FUNCTIONS
    threaded = any(_shared(step, functions) for steps in (*prepare, *entries.values()) for step in steps)
    if threaded:
        sharing, needed = team_functions(target, standalone)
        starts, declared = [*starts, *sharing], [*declared, *needed]
    parts.append(_part(["\n".join(globals_), *starts], declared, attributes(target)))
    return ModuleText(tuple(parts), max((f.scratch_bytes for f in made), default=0), len(made), threaded)


def function_text(nest: Nest, target: Target, locations: Locations | None = None) -> str:
    """A module of nothing but a nest's function; with `locations`, its instructions say which statement they are of."""
    function = emit(nest, "nest0", target, locations)
    text = _part([function.text], function.declarations, attributes(target))
    return f"{text}\n{locations.metadata}\n" if locations is not None else text


def attributes(target: Target) -> str:
    """What LLVM is told of every function. The stack is aligned to whole vectors: otherwise spilled vectors straddle
    cache lines, which makes code that spills up to 50% slower."""
    width = f'"min-legal-vector-width"="{target.vector_bits}" "prefer-vector-width"="{target.vector_bits}"'
    return f'attributes #0 = {{ nounwind "stackrealign" {width} }}'


def _divided(functions: Iterable[Function]) -> Iterator[list[Function]]:
    """In order, a limited amount of text at a time."""
    some: list[Function] = []
    size = 0
    for function in functions:
        if some and size + len(function.text) > PART_CHARACTERS:
            yield some
            some, size = [], 0
        some.append(function)
        size += len(function.text)
    if some:
        yield some


def _part(texts: Sequence[str], declared: Sequence[str], attributes: str) -> str:
    return "\n\n".join([*texts, "\n".join(sorted(set(declared))), attributes]) + "\n"


PREPARE = "strop_prepare"
BASES = ("ctx", "arena", "slots")
_TAKEN = ", ".join(f"ptr %{base}" for base in BASES)


def _shared(step: Planned | InterleavedNests, functions: Mapping[Nest, Function]) -> bool:
    """Whether threads share a step."""
    return len(step.parts) > 1 if isinstance(step, InterleavedNests) else functions[step.nest].threaded


def _entry(name: str, steps: Entry, functions: Mapping[Nest, Function], places: BufferPlaces) -> list[str]:
    """The function that runs steps in order (if threads share some, as the first of a team), and one for each group of
    them that threads share."""
    lines: list[str] = []
    caller = _Caller(functions, places, lines)
    groups: list[str] = []
    for step in steps:
        if not isinstance(step, InterleavedNests):
            caller.call(step)
        elif len(step.parts) == 1:
            caller.turns(step.calls, step.parts[0])
        else:
            group = f"{name}.group{len(groups)}"
            groups.append(_group(group, step, functions, places))
            lines.append(f"  call void {SHARE}(ptr %ctx, ptr @{group}, ptr %pack)")
    return [*_function(name, lines, any(_shared(step, functions) for step in steps)), *groups]


def _prepare(
    sections: Sequence[Sequence[Planned]], functions: Mapping[Nest, Function], places: BufferPlaces
) -> list[str]:
    """The function that runs those sections of the parameter program whose byte is not zero."""
    lines = slot("wanted", "ptr", places.wanted, "%slots")
    for i, calls in enumerate(sections):
        lines += [
            f"  %want{i}.at = getelementptr inbounds i8, ptr %wanted, i64 {i}",
            f"  %want{i}.byte = load i8, ptr %want{i}.at, align 1",
            f"  %want{i} = icmp ne i8 %want{i}.byte, 0",
            f"  br i1 %want{i}, label %make{i}, label %made{i}",
            f"make{i}:",
        ]
        caller = _Caller(functions, places, lines, f"p{i}.")
        for call in calls:
            caller.call(call)
        lines += [f"  br label %made{i}", f"made{i}:"]
    return _function(PREPARE, lines, any(_shared(call, functions) for calls in sections for call in calls))


def _function(name: str, lines: Sequence[str], shared: bool) -> list[str]:
    """An entry of these lines: run by the caller, or as the first of a team where threads share some of it."""
    if not shared:
        return ["\n".join([f"define void @{name}({_TAKEN}) #0 {{", "entry:", *lines, "  ret void", "}"])]
    given = [line for i, base in enumerate(BASES) for line in slot(base, "ptr", i, "%pack")]
    inner = [f"define internal void @{name}.steps(ptr %pack) #0 {{", "entry:", *given, *lines, "  ret void", "}"]
    outer = [f"define void @{name}({_TAKEN}) #0 {{", "entry:", *_packed([f"%{base}" for base in BASES])]
    outer += [f"  call void {ENTER}(ptr %ctx, ptr @{name}.steps, ptr %pack)", "  ret void", "}"]
    return ["\n".join(outer), "\n".join(inner)]


def _packed(values: Sequence[str]) -> list[str]:
    """Pointers side by side, at `%pack`."""
    lines = [f"  %pack = alloca [{len(values)} x ptr], align 16"]
    for i, value in enumerate(values):
        lines.append(f"  %pack{i} = getelementptr inbounds ptr, ptr %pack, i64 {i}")
        lines.append(f"  store ptr {value}, ptr %pack{i}, align 8")
    return lines


def _launcher(function: Function) -> str:
    """The function that has a nest's work shared."""
    values = ["%ctx", *(f"%b{i}" for i in range(len(function.buffers)))]
    lines = [f"define internal void @{function.name}({', '.join(f'ptr {value}' for value in values)}) #0 {{", "entry:"]
    how = TOGETHER if function.together else SHARE
    lines += [*_packed(values), f"  call void {how}(ptr %ctx, ptr @{function.name}.job, ptr %pack)", "  ret void", "}"]
    return "\n".join(lines)


class _Caller:
    """Writes calls of nests into a function whose arguments are the bases."""

    def __init__(
        self, functions: Mapping[Nest, Function], places: BufferPlaces, lines: list[str], prefix: str = "p"
    ) -> None:
        self.functions, self.places, self.lines, self.prefix = functions, places, lines, prefix
        self.known: dict[Buffer, str] = {}
        self.shifted = 0

    def call(self, call: Planned, run: Run | None = None) -> None:
        function = self.functions[call.nest]
        shifts = dict(run.shifts) if run else {}
        pointers = [self.at(call.actual[b], shifts.get(call.actual[b], 0)) for b in function.buffers]
        bounds = [str(run.low), str(run.high)] if run else []
        values = zip(function.kinds, ["%ctx", *pointers, *bounds], strict=True)
        self.lines.append(f"  call void @{function.name}({', '.join(f'{kind} {value}' for kind, value in values)})")

    def turns(self, calls: Sequence[Planned], turns: Sequence[InterleavedStep]) -> None:
        for turn in turns:
            if isinstance(turn, Run):
                self.call(calls[turn.call], turn)
            elif isinstance(turn, Clear):
                to = self.at(turn.buffer, turn.at)
                self.lines.append(f"  call void @llvm.memset.p0.i64(ptr {to}, i8 0, i64 {turn.size}, i1 false)")
            else:
                to, source = self.at(turn.buffer, turn.to), self.at(turn.buffer, turn.source)
                given = f"ptr {to}, ptr {source}, i64 {turn.size}, i1 false"
                self.lines.append(f"  call void @llvm.memmove.p0.p0.i64({given})")

    def at(self, buffer: Buffer, offset: int) -> str:
        """The address of a byte of a buffer (or before it, where only later ones are used)."""
        base = self.pointer(buffer)
        if not offset:
            return base
        self.shifted += 1
        made = f"%{self.prefix}s{self.shifted}"
        self.lines.append(f"  {made} = getelementptr i8, ptr {base}, i64 {offset}")
        return made

    def pointer(self, buffer: Buffer) -> str:
        if buffer in self.known:
            return self.known[buffer]
        places, lines = self.places, self.lines
        made = f"%{self.prefix}{len(self.known)}"
        if buffer in places.constants:
            made = _global_name(buffer)
        elif buffer in places.slots:
            lines.append(f"  {made}.slot = getelementptr inbounds ptr, ptr %slots, i64 {places.slots[buffer]}")
            lines.append(f"  {made} = load ptr, ptr {made}.slot, align 8")
        else:
            offset = places.arena[buffer] if buffer in places.arena else places.temporary[buffer]
            lines.append(f"  {made} = getelementptr inbounds i8, ptr %arena, i64 {offset}")
        self.known[buffer] = made
        return made


def _group(name: str, group: InterleavedNests, functions: Mapping[Nest, Function], places: BufferPlaces) -> str:
    """What each share of a group is: its parts, by one thread with scratch of its own."""
    lines = [f"define internal void @{name}(ptr %pack, i64 %tid, i64 %team) #0 {{", "entry:"]
    for i, base in enumerate(("table", *BASES[1:])):
        lines += slot(base, "ptr", i, "%pack")
    lines += [f"  %ctx = alloca [{TABLE} x ptr], align 16"]
    lines += [f"  call void @llvm.memmove.p0.p0.i64(ptr %ctx, ptr %table, i64 {8 * TABLE}, i1 false)"]
    lines += [
        *slot("scratch", "ptr", SCRATCH, "%table"),
        *slot("stride", "i64", SCRATCH_STRIDE, "%table"),
        "  %skip = mul i64 %tid, %stride",
        "  %own = getelementptr inbounds i8, ptr %scratch, i64 %skip",
        f"  %own.at = getelementptr inbounds ptr, ptr %ctx, i64 {SCRATCH}",
        "  store ptr %own, ptr %own.at, align 8",
        "  br label %next",
        "next:",
        "  %part = phi i64 [ %tid, %entry ], [ %following, %done ]",
        f"  switch i64 %part, label %end [ {' '.join(f'i64 {i}, label %part{i}' for i in range(len(group.parts)))} ]",
    ]
    for i, turns in enumerate(group.parts):
        lines.append(f"part{i}:")
        _Caller(functions, places, lines, f"p{i}.").turns(group.calls, turns)
        lines.append("  br label %done")
    lines += ["done:", "  %following = add i64 %part, %team", "  br label %next", "end:", "  ret void", "}"]
    return "\n".join(lines)


def _global_name(buffer: Buffer) -> str:
    return f'@"const.{buffer.name}"'


def _constant(buffer: Buffer, values: tuple[object, ...]) -> str:
    element = MEMORY[buffer.dtype]
    texts = []
    for value in values:
        assert isinstance(value, bool | int | float)
        texts.append(f"{element} {stored(buffer.dtype, value)}")
    contents = f"[{len(values)} x {element}] [{', '.join(texts)}]"
    return f"{_global_name(buffer)} = private unnamed_addr constant {contents}, align 64"
