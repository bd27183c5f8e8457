"""Nests as text that a person can read aloud."""

from __future__ import annotations

from itertools import groupby

from strop.loops.ir import Buffer, Loop, Nest, Store, loads


def nest_text(nest: Nest) -> str:
    """One nest with its header: what it computes, where it is from, what it moves."""
    read = sum(footprint(nest, b) for b in nest.reads)
    written = sum(footprint(nest, b) for b in nest.writes)
    about = "   ".join(
        part for part in (nest.note, f"from {nest.origin}" if str(nest.origin) else "", f"reads {_bytes(read)}  writes {_bytes(written)}") if part
    )
    inputs = ", ".join(map(str, nest.reads))
    outputs = ", ".join(map(str, nest.writes))
    lines = [f"# {about}", f"nest {nest.name}({inputs}) -> {outputs}:"]
    lines += _body(nest, 1)
    return "\n".join(lines)


def footprint(nest: Nest, buffer: Buffer) -> int:
    """Bytes of a buffer that a nest can touch, from the bounds of its accesses."""
    from strop.core.dtypes import SIZES

    low, high = None, None
    for store in nest.stores:
        offsets = [load.offset for load in loads(store) if load.buffer == buffer]
        if store.target == buffer:
            offsets.append(store.offset)
        for offset in offsets:
            a, b = offset.bounds
            low = a if low is None else min(low, a)
            high = b if high is None else max(high, b)
    if low is None or high is None:
        return 0
    return min(high - max(low, 0) + 1, buffer.size) * SIZES[buffer.dtype]


def _body(nest: Nest, depth: int) -> list[str]:
    lines = []
    for (kind, mode), group in groupby(nest.loops, key=lambda loop: (loop.kind, loop.mode)):
        lines.append("  " * depth + _loops(kind, mode, list(group)) + ":")
        depth += 1
    for buffer in nest.scratch:
        lines.append("  " * depth + f"scratch {buffer}")
    for item in nest.body:
        if isinstance(item, Store):
            lines.append("  " * depth + str(item))
        else:
            lines += _body(item, depth)
    return lines


def _loops(kind: str, mode: str, loops: list[Loop]) -> str:
    ranges = ", ".join(f"{loop.name} in {loop.extent}" for loop in loops)
    how = "" if mode == "serial" else f" ({mode})"
    return f"{kind}{how} {ranges}"


def _bytes(count: int) -> str:
    if count < 1_000_000:
        return f"{count / 1e3:.1f} kB"
    return f"{count / 1e6:.1f} MB"
