"""Element types: the few names that every layer uses, with their sizes."""

from __future__ import annotations

#: name → bytes per element. `bool` is stored as one byte, 0 or 1, as torch does.
SIZES = {
    "f64": 8, "f32": 4, "f16": 2, "bf16": 2,
    "i64": 8, "i32": 4, "i16": 2, "i8": 1, "u8": 1, "bool": 1,
    "c64": 8, "c128": 16,
}  # fmt: skip

#: what generated code computes with; bytes aside, anything else runs through library nodes.
NATIVE = ("f32", "f64", "i32", "i64", "bool")
#: what generated code reads, writes and converts, but does not compute with; a register holds a byte as an i32
BYTES = ("u8", "i8")
STORED = (*NATIVE, *BYTES)

FLOATS = ("f64", "f32", "f16", "bf16")
INTEGERS = ("i64", "i32", "i16", "i8", "u8")


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def is_integer(dtype: str) -> bool:
    return dtype in INTEGERS
