"""The code of a model file as object files for a linker, and the C table that names their functions.

For programs that may not make memory executable, and for whoever wants to look at the code with the usual tools. An
object file has one section of code and constants, aligned to a page; its only undefined symbols are functions of the C
library (`link.EXTERNALS`), which it jumps to in one place each, so that it links into position-independent programs
without text relocations.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from strop.core.problem import Problem
from strop.deploy.model_file import ModelTables, StoredProgram, Variant

RUNTIME = Path(__file__).parent / "c"
_MACHINES = {"x86_64": 62, "aarch64": 183}
_STUB = {"x86_64": 8, "aarch64": 12}
_JUMP = {"x86_64": b"\xe9\0\0\0\0", "aarch64": struct.pack("<I", 0x14000000)}
_RELOCATION = {"x86_64": (1, 4, -4), "aarch64": (0, 282, 0)}  # offset in the jump, kind, addend
_PAGE = 4096
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


def unpack_code(tables: ModelTables, data: Any, folder: Path, name: str = "strop") -> list[Path]:
    """Write the object files of every variant, a C table of them for each architecture, and the C runtime. What they
    define begins with `name`, so that several models can be linked into one program."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise Problem("STR001", f"`{name}` cannot begin names in C", help="letters, digits and _, no digit first")
    folder.mkdir(parents=True, exist_ok=True)
    written = []

    def write(file: str, content: bytes) -> None:
        (folder / file).write_bytes(content)
        written.append(folder / file)

    for machine in dict.fromkeys(variant.machine for variant in tables.variants):
        own = [variant for variant in tables.variants if variant.machine == machine]
        for variant in own:
            for i, program in enumerate(variant.programs):
                code = bytes(data[program.image : program.image + program.image_bytes])
                symbols = _symbols(name, variant, i)
                write(f"{_prefix(name, variant)}_{i}.o", object_file(code, program, machine, symbols))
        write(f"code_{machine}.c", _table(name, own).encode())
    for file in ("strop.h", "strop.c", "example.c", "example.rs"):
        write(file, (RUNTIME / file).read_bytes())
    return written


def object_file(code: bytes, program: StoredProgram, machine: str, symbols: Mapping[str, str]) -> bytes:
    """A relocatable ELF file of a program's code; `symbols` names its entry, its worker and what ends its workers."""
    text, relocations = bytearray(code), b""
    count, size = len(program.externals), _STUB[machine]
    offset, kind, addend = _RELOCATION[machine]
    named = [(name, at) for what, name in symbols.items() if (at := getattr(program, what)) or what == "entry"]
    first = 1 + len(named)
    for i in range(count):
        at = len(code) - size * (count - i)
        text[at : at + len(_JUMP[machine])] = _JUMP[machine]
        relocations += struct.pack("<QQq", at + offset, (first + i) << 32 | kind, addend)
    names, table = bytearray(b"\0"), bytearray(_SYMBOL.size)
    for name, at, section in [*((n, a, 1) for n, a in named), *((n, 0, 0) for n in program.externals)]:
        table += _SYMBOL.pack(len(names), 0x12 if section else 0x10, 0, section, at, 0)
        names += name.encode() + b"\0"
    return _elf(_MACHINES[machine], bytes(text), relocations, bytes(table), bytes(names))


def _elf(machine: int, text: bytes, relocations: bytes, symbols: bytes, names: bytes) -> bytes:
    titles = ("", ".text", ".rela.text", ".symtab", ".strtab", ".shstrtab", ".note.GNU-stack")
    title_bytes = b"\0".join(title.encode() for title in titles) + b"\0"
    contents = (b"", text, relocations, symbols, names, title_bytes, b"")
    kinds = (  # kind, flags, linked section, info, alignment, bytes of an entry
        (0, 0, 0, 0, 0, 0), (1, 6, 0, 0, _PAGE, 0), (4, 0x40, 3, 1, 8, 24), (2, 0, 4, 1, 8, 24), (3, 0, 0, 0, 1, 0),
        (3, 0, 0, 0, 1, 0), (1, 0, 0, 0, 1, 0),
    )  # fmt: skip
    body, rows, at = bytearray(64), b"", 0
    for title, content, (kind, flags, link, info, alignment, entry) in zip(titles, contents, kinds):
        body.extend(bytes(-len(body) % max(alignment, 1)))
        start = len(body) if kind else 0
        body += content
        place = at if title else 0
        rows += _SECTION.pack(place, kind, flags, 0, start, len(content), link, info, alignment, entry)
        at += len(title) + 1
    body.extend(bytes(-len(body) % 8))
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = identity + struct.pack("<HHIQQQIHHHHHH", 1, machine, 1, 0, 0, len(body), 0, 64, 0, 0, 64, len(titles), 5)
    return header + bytes(body[64:]) + rows


def _prefix(name: str, variant: Variant) -> str:
    return f"{name}_" + re.sub(r"\W", "_", variant.target)


def _symbols(name: str, variant: Variant, i: int) -> dict[str, str]:
    prefix = f"{_prefix(name, variant)}_{i}"
    return {"entry": f"{prefix}_run", "worker": f"{prefix}_worker", "end_workers": f"{prefix}_end_workers"}


def _table(name: str, variants: Sequence[Variant]) -> str:
    """C that declares the functions and lists them by target, for `strop_open_linked`."""
    types = {
        "entry": "void {}(void *, void *, void *);",
        "worker": "void *{}(void *);",
        "end_workers": "void {}(void *);",
    }
    declared, rows = [], []
    for variant in variants:
        columns: dict[str, list[str]] = {what: [] for what in types}
        for i, program in enumerate(variant.programs):
            for what, symbol in _symbols(name, variant, i).items():
                there = what == "entry" or getattr(program, what)
                columns[what].append(symbol if there else "NULL")
                if there:
                    declared.append(types[what].format(symbol))
        lists = ", ".join("{" + ", ".join([*names, "NULL"][:2]) + "}" for names in columns.values())
        rows.append(f'    {{"{variant.target}", {lists}}},')
    return "\n".join([
        f"/* The code of a model file: strop_open_linked(path, {name}_linked_code, {name}_linked_count, …). */",
        '#include "strop.h"', "", *declared, "",
        f"const strop_code {name}_linked_code[] = {{", *rows, "};",
        f"const size_t {name}_linked_count = {len(rows)};", "",
    ])  # fmt: skip
