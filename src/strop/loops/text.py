"""Nests as text that a person can read aloud."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from strop.core.extents import Extent, bounds
from strop.loops.ir import Loop, Nest, Store
from strop.loops.volume import flop, volume


def nest_text(nest: Nest) -> str:
    """One nest with its header: what it computes, where it is from, what it moves."""
    return "\n".join(line for line, _ in nest_lines(nest))


def nest_lines(nest: Nest) -> list[tuple[str, Store | None]]:
    """The same line by line, each with the statement that it shows."""
    read, written = volume(nest)
    work = flop(nest)
    moved = f"reads {_range(read, _bytes)}  writes {_range(written, _bytes)}"
    if work != 0:
        moved += f"  {_range(work, _gigaflop)}"
    origin = f"from {nest.origin}" if str(nest.origin) else ""
    about = "   ".join(part for part in (nest.note, origin, moved) if part)
    inputs = ", ".join(map(str, nest.reads))
    outputs = ", ".join(map(str, nest.writes))
    head = [f"# {about}", f"nest {nest.name}({inputs}) -> {outputs}:"]
    return [*((line, None) for line in head), *_body(nest, 1)]


def _body(nest: Nest, depth: int) -> list[tuple[str, Store | None]]:
    lines: list[tuple[str, Store | None]] = []
    for (kind, mode, until), group in groupby(nest.loops, key=lambda loop: (loop.kind, loop.mode, loop.until)):
        stop = f", until {nest.stores[-1].target.name}" if until else ""
        lines.append(("  " * depth + _loops(kind, mode, list(group)) + f"{stop}:", None))
        depth += 1
    for buffer in nest.scratch:
        lines.append(("  " * depth + f"scratch {buffer}", None))
    for item in nest.body:
        if isinstance(item, Store):
            lines.append(("  " * depth + str(item), item))
        else:
            lines += _body(item, depth)
    return lines


def _loops(kind: str, mode: str, loops: list[Loop]) -> str:
    ranges = ", ".join(f"{loop.name} in {loop.extent}" for loop in loops)
    how = "" if mode == "serial" else f" ({mode})"
    return f"{kind}{how} {ranges}"


def _range(count: Extent, told: Callable[[int], str]) -> str:
    """A count, or the smallest and the largest that symbols allow."""
    low, high = map(told, bounds(count))
    return low if low == high else f"{low}..{high}"


def _bytes(count: int) -> str:
    if count < 1_000_000:
        return f"{count / 1e3:.1f} kB"
    return f"{count / 1e6:.1f} MB"


def _gigaflop(count: int) -> str:
    return f"{count / 1e9:.2f} GFLOP" if count >= 10_000_000 else f"{count / 1e6:.2g} MFLOP"
