"""A plan becomes LLVM modules: a function per distinct nest, and entry functions that call them in order.

Several modules rather than one, since LLVM's memory grows with what it compiles at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from strop.code.builder import ELEMENT, literal
from strop.code.emit import Function, emit
from strop.core.target import Target
from strop.loops.ir import Buffer, Nest


class Planned(Protocol):
    """What the module needs of a planned call."""

    @property
    def nest(self) -> Nest: ...
    @property
    def actual(self) -> Mapping[Buffer, Buffer]: ...


PART_CHARACTERS = 400_000  # of LLVM text that is compiled at a time


@dataclass(frozen=True)
class Places:
    """Where buffers are: offsets into the arena and the packed weights, slots of the caller's pointer table."""

    arena: Mapping[Buffer, int]
    packed: Mapping[Buffer, int]
    slots: Mapping[Buffer, int]
    constants: Mapping[Buffer, tuple[object, ...]]


@dataclass(frozen=True)
class ModuleText:
    """LLVM text in parts that are compiled one by one, the entry functions in the last; and what they need."""

    parts: tuple[str, ...]
    scratch_bytes: int
    functions: int
    threaded: bool


def build_module(entries: Mapping[str, Sequence[Planned]], places: Places, target: Target) -> ModuleText:
    """Each entry is `void name(ptr table, ptr arena, ptr packed, ptr slots)`."""
    functions: dict[Nest, Function] = {}
    for calls in entries.values():
        for call in calls:
            if call.nest not in functions:
                functions[call.nest] = emit(call.nest, f"nest{len(functions)}", target)
    made = list(functions.values())
    about = attributes(target)
    parts = [_part([f.text for f in some], [d for f in some for d in f.declarations], about) for some in _divided(made)]
    globals_ = [_constant(buffer, values) for buffer, values in places.constants.items() if buffer.dtype in ELEMENT]
    starts = [_entry(name, calls, functions, places) for name, calls in entries.items()]
    declared = [f"declare void @{f.name}({', '.join(['ptr'] * (len(f.buffers) + 1))})" for f in made]
    parts.append(_part(["\n".join(globals_), *starts], declared, about))
    return ModuleText(
        tuple(parts),
        max((f.scratch_bytes for f in made), default=0),
        len(made),
        any(f.threaded for f in made),
    )


def attributes(target: Target) -> str:
    """What LLVM is told of every function. The stack is aligned to whole vectors: spilled ones would reach over lines
    otherwise, which makes code that spills take up to half as long again."""
    width = f'"min-legal-vector-width"="{target.vector_bits}" "prefer-vector-width"="{target.vector_bits}"'
    return f'attributes #0 = {{ nounwind "stackrealign" {width} }}'


def _divided(functions: Sequence[Function]) -> list[list[Function]]:
    """In order, a limited amount of text at a time."""
    made: list[list[Function]] = []
    size = PART_CHARACTERS
    for function in functions:
        if size + len(function.text) > PART_CHARACTERS:
            made.append([])
            size = 0
        made[-1].append(function)
        size += len(function.text)
    return made


def _part(texts: Sequence[str], declared: Sequence[str], attributes: str) -> str:
    return "\n\n".join([*texts, "\n".join(sorted(set(declared))), attributes]) + "\n"


def _entry(name: str, calls: Sequence[Planned], functions: Mapping[Nest, Function], places: Places) -> str:
    lines = [f"define void @{name}(ptr %ctx, ptr %arena, ptr %packed, ptr %slots) #0 {{", "entry:"]
    known: dict[Buffer, str] = {}

    def pointer(buffer: Buffer) -> str:
        if buffer in known:
            return known[buffer]
        made = f"%p{len(known)}"
        if buffer in places.constants:
            made = _global_name(buffer)
        elif buffer in places.slots:
            lines.append(f"  {made}.slot = getelementptr inbounds ptr, ptr %slots, i64 {places.slots[buffer]}")
            lines.append(f"  {made} = load ptr, ptr {made}.slot, align 8")
        else:
            base, offset = ("%packed", places.packed) if buffer.space == "packed" else ("%arena", places.arena)
            lines.append(f"  {made} = getelementptr inbounds i8, ptr {base}, i64 {offset[buffer]}")
        known[buffer] = made
        return made

    for call in calls:
        function = functions[call.nest]
        arguments = ", ".join(["ptr %ctx", *(f"ptr {pointer(call.actual[b])}" for b in function.buffers)])
        lines.append(f"  call void @{function.name}({arguments})")
    return "\n".join([*lines, "  ret void", "}"])


def _global_name(buffer: Buffer) -> str:
    return f'@"const.{buffer.name}"'


def _constant(buffer: Buffer, values: tuple[object, ...]) -> str:
    element = "i8" if buffer.dtype == "bool" else ELEMENT[buffer.dtype]
    texts = []
    for value in values:
        assert isinstance(value, bool | int | float)
        texts.append(f"{element} {int(value) if buffer.dtype == 'bool' else literal(buffer.dtype, value)}")
    contents = f"[{len(values)} x {element}] [{', '.join(texts)}]"
    return f"{_global_name(buffer)} = private unnamed_addr constant {contents}, align 64"
