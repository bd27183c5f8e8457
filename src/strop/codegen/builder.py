"""LLVM IR as text, one instruction at a time.

A `CodeBlock` gathers instructions of one scope; `op` and friends append and return the name of the result. Vector types
are written `<16 x float>`; `lanes` = 0 means scalar. Constants are printed in the exact hexadecimal form of LLVM.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

#: our dtypes → LLVM element types in registers
ELEMENT = {"f32": "float", "f64": "double", "i32": "i32", "i64": "i64", "bool": "i1", "u8": "i32", "i8": "i32"}
#: and in memory: bools and bytes are wider or narrower there, and converted on the way (from memory, to memory)
MEMORY = {**ELEMENT, "bool": "i8", "u8": "i8", "i8": "i8"}
CONVERTED = {"bool": ("icmp ne", "zext"), "u8": ("zext", "trunc"), "i8": ("sext", "trunc")}
SUFFIX = {"f32": "f32", "f64": "f64", "i32": "i32", "i64": "i64", "bool": "i1"}


class SSAValue(NamedTuple):
    """An SSA value; lanes = 0 is a scalar, which broadcasts where a vector is wanted."""

    name: str
    dtype: str
    lanes: int = 0


def type_of(dtype: str, lanes: int = 0) -> str:
    element = ELEMENT[dtype]
    return f"<{lanes} x {element}>" if lanes else element


def literal(dtype: str, value: float | int | bool) -> str:
    """A scalar constant as LLVM text."""
    if dtype in ("f32", "f64"):
        if dtype == "f32":
            value = _round_to_f32(float(value))
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"
    if dtype == "bool":
        return "true" if value else "false"
    return str(int(value))


def _round_to_f32(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def constant(dtype: str, value: float | int | bool, lanes: int = 0) -> str:
    """A constant of a scalar or vector type (the value in every lane)."""
    text = literal(dtype, value)
    if not lanes:
        return text
    return f"splat ({ELEMENT[dtype]} {text})"


def stored(dtype: str, value: float | int | bool, lanes: int = 0) -> str:
    """The same as it lies in memory."""
    if dtype not in CONVERTED:
        return constant(dtype, value, lanes)
    text = str((int(value) + 2**7) % 2**8 - 2**7)
    return f"splat (i8 {text})" if lanes else text


class Names:
    """Fresh SSA names and labels, the intrinsics that a function has used, and whether the machine multiplies and adds
    in one instruction."""

    def __init__(self, fused: bool = True) -> None:
        self.count = 0
        self.fused = fused
        self.location = ""  # what is written behind each instruction: see `codegen/locations.py`
        self.declared: dict[str, None] = {}

    def fresh(self, prefix: str = "v") -> str:
        self.count += 1
        return f"%{prefix}{self.count}"

    def label(self, prefix: str = "b") -> str:
        self.count += 1
        return f"{prefix}{self.count}"


class CodeBlock:
    """Straight-line instructions being written. Several blocks of one function share a `Names`."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.lines: list[str] = []

    def emit(self, text: str) -> None:
        self.lines.append(f"  {text}{self.names.location}")

    def let(self, text: str) -> str:
        """`%fresh = text`"""
        name = self.names.fresh()
        self.lines.append(f"  {name} = {text}{self.names.location}")
        return name

    def op(self, opcode: str, dtype: str, lanes: int, *args: str) -> str:
        """`opcode type a, b`: fadd, fmul, add, and, fcmp olt, fneg …"""
        return self.let(f"{opcode} {type_of(dtype, lanes)} {', '.join(args)}")

    def call(
        self, intrinsic: str, dtype: str, lanes: int, *args: str, extra: Iterable[str] = (), flags: str = ""
    ) -> str:
        """An overloaded intrinsic whose operands and result share one type: `llvm.fma`, `llvm.sqrt` …"""
        kind = type_of(dtype, lanes)
        suffix = f"v{lanes}{SUFFIX[dtype]}" if lanes else SUFFIX[dtype]
        more = list(extra)
        operands = [f"{kind} {a}" for a in args] + more
        types = [kind] * len(args) + [m.split()[0] for m in more]
        name = f"@{intrinsic}.{suffix}"
        self.names.declared[f"declare {kind} {name}({', '.join(types)})"] = None
        return self.let(f"call {flags + ' ' if flags else ''}{kind} {name}({', '.join(operands)})")

    def convert(self, opcode: str, value: str, source: str, target: str, lanes: int) -> str:
        """`sitofp`, `zext`, `fptrunc` … between our dtypes."""
        return self.let(f"{opcode} {type_of(source, lanes)} {value} to {type_of(target, lanes)}")

    def bitcast(self, value: str, source: str, target: str, lanes: int) -> str:
        return self.convert("bitcast", value, source, target, lanes)

    def select(self, condition: str, a: str, b: str, dtype: str, lanes: int) -> str:
        kind = type_of(dtype, lanes)
        return self.let(f"select {type_of('bool', lanes)} {condition}, {kind} {a}, {kind} {b}")

    def shuffle(self, kind: str, a: str, b: str, picks: Sequence[int]) -> str:
        """Elements of two vectors of a type; those of the second count on from the first's."""
        places = ", ".join(f"i32 {pick}" for pick in picks)
        return self.let(f"shufflevector {kind} {a}, {kind} {b}, <{len(picks)} x i32> <{places}>")

    def splat(self, value: str, dtype: str, lanes: int) -> str:
        kind = type_of(dtype, lanes)
        first = self.let(f"insertelement {kind} poison, {ELEMENT[dtype]} {value}, i64 0")
        return self.let(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")
