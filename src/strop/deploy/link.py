"""A linker for what code generation emits: relocatable ELF files → one image of position-independent code.

An image is code and constants that refer to each other by distances only, so that it runs wherever it is mapped. What
it calls of the C library is called through a table of addresses in a page of its own behind it, which whoever loads the
image fills in (`EXTERNALS`). Nothing else is written to. Absolute addresses in code are refused: they would have to be
changed by the loader.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from strop.core.problem import Problem

#: functions of the C library that code may call, by their numbers in a file; new ones are added at the end
EXTERNALS = (
    "memcpy", "memmove", "memset", "floorf", "floor", "ceilf", "ceil", "truncf", "trunc", "rintf", "rint",
    "nearbyintf", "nearbyint", "roundf", "round", "roundevenf", "roundeven", "fmodf", "fmod", "sinf", "sin", "cosf",
    "cos", "tanf", "tan", "powf", "pow", "expf", "exp", "logf", "log", "sincosf", "sincos",
)  # fmt: skip
#: no page of Linux is larger: what is mapped by itself starts at a multiple
PAGE = 65536
_SECTION_ALIGNMENT = 64
_X86, _ARM = 62, 183
MACHINES = {_X86: "x86_64", _ARM: "aarch64"}
_ALLOCATED, _WRITABLE, _EXECUTABLE = 2, 1, 4
_PROGBITS, _SYMTAB, _RELA, _NOBITS = 1, 2, 4, 8


@dataclass(frozen=True)
class Stub:
    """Where an image jumps to a function of the C library."""

    at: int
    external: str


@dataclass(frozen=True)
class Image:
    """Code and constants, the functions that can be called from outside, and the table behind them."""

    machine: str
    code: bytes
    symbols: dict[str, int]
    externals: tuple[str, ...]  # in the order of their addresses in the table
    stubs: tuple[Stub, ...]

    @property
    def table(self) -> int:
        """Where the addresses of external functions are, in bytes from the start."""
        return _up(len(self.code), PAGE)

    @property
    def bytes(self) -> int:
        return self.table + _up(8 * max(len(self.externals), 1), PAGE)


@dataclass
class _Section:
    name: str
    kind: int
    flags: int
    data: bytes
    link: int
    info: int
    entry_size: int
    alignment: int
    at: int = -1  # in the image


@dataclass
class _Symbol:
    name: str
    binding: int
    section: int
    value: int


@dataclass
class _Object:
    machine: int
    sections: list[_Section]
    symbols: list[_Symbol] = field(default_factory=list)


def link(objects: Sequence[bytes]) -> Image:
    """The image of some object files, which may refer to each other."""
    read = [_read(data) for data in objects]
    machines = {one.machine for one in read}
    if len(machines) != 1 or not machines <= MACHINES.keys():
        raise _refused("object files of one machine, x86-64 or AArch64, are needed")
    (machine,) = machines
    code = bytearray()
    for one in read:
        for section in one.sections:
            if not section.flags & _ALLOCATED or not section.data:
                continue
            if section.flags & _WRITABLE:
                raise _refused(f"section `{section.name}` holds data that code writes to")
            code.extend(bytes(-len(code) % max(section.alignment, _SECTION_ALIGNMENT)))
            section.at = len(code)
            code.extend(section.data)
    defined = _defined(read)
    wanted = sorted({name for one in read for name in _undefined(one) if name not in defined})
    unknown = [name for name in wanted if name not in EXTERNALS]
    if unknown:
        raise _refused(f"code calls `{unknown[0]}`, which is none of {', '.join(EXTERNALS)}")
    stubs = []
    size = 8 if machine == _X86 else 12
    code.extend(bytes(-len(code) % _SECTION_ALIGNMENT))
    table = _up(len(code) + size * len(wanted), PAGE)
    for i, name in enumerate(wanted):
        defined[name] = len(code)
        stubs.append(Stub(len(code), name))
        code.extend(_stub(machine, len(code), table + 8 * i))
    for one in read:
        for section in one.sections:
            if section.kind == _RELA and one.sections[section.info].at >= 0:
                _relocate(code, one, section, defined)
    symbols = {
        symbol.name: one.sections[symbol.section].at + symbol.value
        for one in read
        for symbol in one.symbols
        if symbol.binding and 0 < symbol.section < len(one.sections) and symbol.name
    }
    return Image(MACHINES[machine], bytes(code), symbols, tuple(wanted), tuple(stubs))


def _read(data: bytes) -> _Object:
    if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 16)[0] != 1:
        raise _refused("not a relocatable ELF file of 64 bits")
    (machine,) = struct.unpack_from("<H", data, 18)
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]
    texts = data[rows[names][4] : rows[names][4] + rows[names][5]]
    sections = []
    for name, kind, flags, _, offset, length, link_, info, alignment, entry in rows:
        content = bytes(length) if kind == _NOBITS else data[offset : offset + length]
        sections.append(_Section(_text(texts, name), kind, flags, content, link_, info, entry, alignment))
    found = _Object(machine, sections)
    table = next((section for section in sections if section.kind == _SYMTAB), None)
    if table is not None:
        texts = sections[table.link].data
        for i in range(0, len(table.data), 24):
            name, info, _, index, value, _ = struct.unpack_from("<IBBHQQ", table.data, i)
            found.symbols.append(_Symbol(_text(texts, name), info >> 4, index, value))
    return found


def _text(texts: bytes, at: int) -> str:
    return texts[at : texts.index(b"\0", at)].decode()


def _defined(objects: Sequence[_Object]) -> dict[str, int]:
    """Addresses of the symbols that other object files may use."""
    found: dict[str, int] = {}
    for one in objects:
        for symbol in one.symbols:
            if symbol.binding and 0 < symbol.section < len(one.sections) and one.sections[symbol.section].at >= 0:
                if symbol.name in found:
                    raise _refused(f"`{symbol.name}` is defined twice")
                found[symbol.name] = one.sections[symbol.section].at + symbol.value
    return found


def _undefined(one: _Object) -> Iterator[str]:
    return (symbol.name for symbol in one.symbols if not symbol.section and symbol.name)


def _stub(machine: int, at: int, slot: int) -> bytes:
    """A jump to the address that a slot of the table holds."""
    if machine == _X86:
        return b"\xff\x25" + struct.pack("<i", slot - (at + 6)) + b"\x90\x90"
    page = (slot >> 12) - (at >> 12)
    adrp = 0x90000010 | (page & 3) << 29 | (page >> 2 & 0x7FFFF) << 5
    ldr = 0xF9400211 | (slot & 0xFFF) >> 3 << 10
    return struct.pack("<III", adrp, ldr, 0xD61F0220)  # x16 = page; x17 = [x16 + slot]; br x17


def _relocate(code: bytearray, one: _Object, section: _Section, defined: dict[str, int]) -> None:
    base = one.sections[section.info].at
    change = _relocate_x86 if one.machine == _X86 else _relocate_arm
    for i in range(0, len(section.data), 24):
        offset, info, addend = struct.unpack_from("<QQq", section.data, i)
        symbol = one.symbols[info >> 32]
        if symbol.section and symbol.section < len(one.sections):
            value = one.sections[symbol.section].at + symbol.value
        else:
            value = defined[symbol.name]
        change(code, base + offset, info & 0xFFFFFFFF, value + addend)


def _relocate_x86(code: bytearray, at: int, kind: int, value: int) -> None:
    match kind:
        case 2 | 4:  # PC32, PLT32
            struct.pack_into("<i", code, at, value - at)
        case 24:  # PC64
            struct.pack_into("<q", code, at, value - at)
        case 41 | 42 if code[at - 2] == 0x8B:  # GOTPCRELX: the address itself in place of where it is held
            code[at - 2] = 0x8D
            struct.pack_into("<i", code, at, value - at)
        case _:
            raise _refused(f"relocation {kind} of x86-64 needs an absolute address")


#: bits that an offset within a page is shifted by, for loads and stores of so many bytes
_ARM_LOADS = {278: 0, 284: 1, 285: 2, 286: 3, 299: 4}


def _relocate_arm(code: bytearray, at: int, kind: int, value: int) -> None:
    (word,) = struct.unpack_from("<I", code, at)
    distance = value - at
    if kind in (282, 283):  # JUMP26, CALL26
        word |= distance >> 2 & 0x3FFFFFF
    elif kind in (275, 276):  # ADR_PREL_PG_HI21
        page = (value >> 12) - (at >> 12)
        word |= (page & 3) << 29 | (page >> 2 & 0x7FFFF) << 5
    elif kind == 274:  # ADR_PREL_LO21
        word |= (distance & 3) << 29 | (distance >> 2 & 0x7FFFF) << 5
    elif kind == 277:  # ADD_ABS_LO12_NC
        word |= (value & 0xFFF) << 10
    elif kind in _ARM_LOADS:
        word |= (value & 0xFFF) >> _ARM_LOADS[kind] << 10
    elif kind in (273, 280):  # LD_PREL_LO19, CONDBR19
        word |= (distance >> 2 & 0x7FFFF) << 5
    elif kind == 279:  # TSTBR14
        word |= (distance >> 2 & 0x3FFF) << 5
    elif kind == 261:  # PREL32
        word = distance & 0xFFFFFFFF
    elif kind == 260:  # PREL64
        struct.pack_into("<q", code, at, distance)
        return
    else:
        raise _refused(f"relocation {kind} of AArch64 needs an absolute address")
    struct.pack_into("<I", code, at, word)


def _up(size: int, step: int) -> int:
    return -(-size // step) * step


def _refused(why: str) -> Problem:
    return Problem("STR408", f"the program cannot be put into a file: {why}", help="please report this model")
