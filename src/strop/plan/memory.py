"""The arena: every intermediate tensor gets an offset before anything runs; those never alive at once share bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from strop.loops.ir import Buffer

ALIGNMENT = 64
#: vectors may be read whole past the last element of a tensor; nothing of it is used
SLACK = 64


@dataclass(frozen=True)
class Arena:
    """Offsets in bytes and the size of the whole."""

    offsets: Mapping[Buffer, int]
    bytes: int

    @property
    def unshared(self) -> int:
        """What it would take without sharing."""
        return sum(room(b) for b in self.offsets)


def room(buffer: Buffer) -> int:
    """Bytes that a tensor takes with what may be read past it."""
    return (max(buffer.bytes, 1) + SLACK + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def plan_memory(steps: Sequence[Iterable[Buffer]], space: str = "arena") -> Arena:
    """Offsets for the buffers of a space; `steps` lists what each step touches. Large tensors choose first."""
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for position, touched in enumerate(steps):
        for buffer in touched:
            if buffer.space == space:
                first.setdefault(buffer, position)
                last[buffer] = position
    placed: list[tuple[int, int, Buffer]] = []
    offsets: dict[Buffer, int] = {}
    for buffer in sorted(first, key=lambda b: (-room(b), first[b], b.name)):
        size = room(buffer)
        conflicts = sorted(
            (start, end)
            for start, end, other in placed
            if first[other] <= last[buffer] and first[buffer] <= last[other]
        )
        offset = 0
        for start, end in conflicts:
            if offset + size <= start:
                break
            offset = max(offset, end)
        offsets[buffer] = offset
        placed.append((offset, offset + size, buffer))
    return Arena(offsets, max((end for _, end, _ in placed), default=0))
