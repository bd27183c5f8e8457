"""A plan becomes one LLVM module: a function per distinct nest, and entry functions that call them in order."""

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


@dataclass(frozen=True)
class Places:
    """Where buffers are: offsets into the arena and the packed weights, slots of the caller's pointer table."""

    arena: Mapping[Buffer, int]
    packed: Mapping[Buffer, int]
    slots: Mapping[Buffer, int]
    constants: Mapping[Buffer, tuple[object, ...]]


@dataclass(frozen=True)
class ModuleText:
    """LLVM text, and what it needs at run time."""

    text: str
    scratch_bytes: int
    functions: int
    threaded: bool


def build_module(entries: Mapping[str, Sequence[Planned]], places: Places, target: Target) -> ModuleText:
    """Each entry is `void name(ptr table, ptr arena, ptr packed, ptr slots)`."""
    functions: dict[Nest, Function] = {}
    declared: dict[str, None] = {}
    parts: list[str] = []
    for calls in entries.values():
        for call in calls:
            if call.nest not in functions:
                made = emit(call.nest, f"nest{len(functions)}", target)
                functions[call.nest] = made
                parts.append(made.text)
                declared.update(dict.fromkeys(made.declarations))
    for name, calls in entries.items():
        parts.append(_entry(name, calls, functions, places))
    globals_ = [_constant(buffer, values) for buffer, values in places.constants.items() if buffer.dtype in ELEMENT]
    width = f'"min-legal-vector-width"="{target.vector_bits}" "prefer-vector-width"="{target.vector_bits}"'
    attributes = f"attributes #0 = {{ nounwind {width} }}"
    text = "\n\n".join(["\n".join(globals_), *parts, "\n".join(sorted(declared)), attributes]) + "\n"
    return ModuleText(
        text,
        max((f.scratch_bytes for f in functions.values()), default=0),
        len(functions),
        any(f.threaded for f in functions.values()),
    )


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
