"""Windows: the rows of a tensor that calls in strips hand on and need at a time, in a buffer of their own.

Where no row outlives its strip, a window starts with the first row of the strip at hand. Others are rings: row r lies
in place r mod n, so that it stays where it is for as long as it is needed, and later ones take the place of those that
are not. That takes calls that find each row once in a step of the loop that walks over them: unrolled loops alone tell
one from another, or tiles cross from one to the next but never from the ring's end to its start. Where a call is not
like that, rows that are still needed move to the window's start between strips.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import lcm, prod

from strop.core.dtypes import SIZES
from strop.loops.index import Index
from strop.loops.interleaved import Clear, Move, Run
from strop.loops.ir import Buffer, Nest
from strop.loops.rewriting import rename
from strop.schedule.access_ranges import AccessRange, RangedLoop

SPARE = 1.25  # windows whose rows are moved hold this many times the rows of a strip, so that they move less often
MOST_SPARE = 2  # the same for rings
MOVE_US = 0.03  # what one more piece that is moved or cleared costs
MOVED = 16  # bytes a cycle


@dataclass(frozen=True)
class Link:
    """A tensor that one call of a chain hands to another."""

    buffer: Buffer
    writer: int
    reader: int
    written: AccessRange
    read: AccessRange


Spans = list[tuple[int, int, int]]


@dataclass(frozen=True)
class _Needs:
    """What a strip needs to be done first: the whole window cleared, or rows of each of its planes."""

    whole: bool
    skipped: int  # rows in front of those that are carried
    carried: int  # rows that go to the start of each plane
    zeros: tuple[tuple[int, int], ...]  # first row, count


class FoldedStorage:
    """What has to be done for the rows of a tensor before each strip, by the walks that hand it on."""

    def __init__(
        self,
        whole: Buffer,
        links: Sequence[Link],
        edged: bool,
        walks: Sequence[RangedLoop],
        parts: Sequence[Sequence[Sequence[Run]]],
    ) -> None:
        self.whole, self.links, self.edged = whole, links, edged
        outside, inside = whole.shape[: self.dimension], whole.shape[self.dimension + 1 :]
        self.planes, self.row = prod(outside), prod(inside) * SIZES[whole.dtype]
        self.spans = [self._spans(part) for part in parts]
        widest = max((end - low for part in self.spans for low, _, end in part), default=0)
        carried = any(before > low for part in self.spans for low, before, _ in part)
        ring = self._ring(widest, walks) if carried else None
        self.ring = ring is not None
        self.rows = ring or min(int(widest * SPARE) if carried else widest, whole.shape[self.dimension])
        shape = (len(parts), *outside, self.rows, *inside)
        self.buffer = Buffer(f"{whole.name}.window", whole.dtype, shape, "arena")

    @property
    def dimension(self) -> int:
        return self.links[0].written.dimension

    @property
    def plane(self) -> int:
        """Bytes of the rows that lie one after the other."""
        return self.rows * self.row

    @property
    def bytes(self) -> int:
        return self.planes * self.plane

    def _ring(self, widest: int, walks: Sequence[RangedLoop]) -> int | None:
        """The fewest rows of a ring that all walks may use."""
        used = {walk for link in self.links for walk in (link.writer, link.reader)}
        whole = lcm(*(walks[at].rounds[self.whole] for at in used))  # 0 where one of them is
        rows = -(-widest // whole) * whole if whole else 0
        return rows if 0 < rows <= min(int(widest * MOST_SPARE), self.whole.shape[self.dimension]) else None

    def place(self, nest: Nest, short: Buffer) -> tuple[Nest, Buffer]:
        """A nest that finds its rows here, and what it takes the window for: the whole, but with fewer rows where
        something lies outside of them."""
        held = _fewer(short, self.dimension, self.rows) if self.ring or self.planes > 1 else short
        if not self.ring:
            return rename(nest, {short: held}), held
        return rename(nest, {short: held}, lambda index: _round(index, self.dimension, self.rows)), held

    def _spans(self, part: Sequence[Sequence[Run]]) -> Spans:
        """For each strip: the first row that it or a later one reads, the end of those written before it, and the end
        of those that it touches."""
        written, writer = self.links[0].written, self.links[0].writer
        reads = {link.reader: link.read for link in self.links}
        lows = []
        low = written.end[-1]
        for strip in reversed(part):
            low = min([low, *(reads[run.call].low[run.low] for run in strip if run.call in reads)])
            lows.append(min([low, *(written.low[run.low] for run in strip if run.call == writer)]))
        made, before = [], 0
        for low, strip in zip(reversed(lows), part):
            ends = [written.end[run.high - 1] for run in strip if run.call == writer]
            touched = ends + [reads[run.call].end[run.high - 1] for run in strip if run.call in reads]
            made.append((low, max(before, low), max(touched, default=low)))
            before = max([before, *ends])
        return made

    def turns(self, part: int) -> list[tuple[int, list[Clear | Move]]]:
        """For each strip: the row at the window's start, and what is to be done first."""
        start = part * self.bytes
        made: list[tuple[int, list[Clear | Move]]] = []
        for base, needs in self._needs(part):
            todo: list[Clear | Move] = [Clear(self.buffer, start, self.bytes)] if needs.whole else []
            for plane in range(start, start + self.bytes, self.plane):
                if needs.carried:
                    size = needs.carried * self.row
                    todo.append(Move(self.buffer, plane, plane + needs.skipped * self.row, size))
            for plane in range(start, start + self.bytes, self.plane):
                for row, count in needs.zeros:
                    todo.append(Clear(self.buffer, plane + row * self.row, count * self.row))
            made.append((base, todo))
        return made

    def work(self, cycle: float) -> float:
        """Microseconds that one thread takes to move and clear."""
        pieces = size = 0
        for _, needs in self._needs(0):
            rows = [count for count in (needs.carried, *(zeros for _, zeros in needs.zeros)) if count]
            pieces += needs.whole + len(rows) * self.planes
            size += needs.whole * self.bytes + sum(rows) * self.row * self.planes
        return MOVE_US * pieces + size / MOVED * cycle

    def _needs(self, part: int) -> Iterator[tuple[int, _Needs]]:
        """For each strip the row at the window's start, and what has to be done to its planes first."""
        last = self.links[0].written.end[-1]
        base = 0 if self.ring else self.spans[part][0][0]
        for strip, (low, before, end) in enumerate(self.spans[part]):
            skipped = carried = 0
            if not self.ring and end - base > self.rows:
                skipped, carried = low - base, max(before - low, 0)
                base = low
            zeros = self._zeros(last - base, end - last) if end > last and strip else ()
            yield base, _Needs(strip == 0 and self.edged, skipped, carried, tuple(zeros))

    def _zeros(self, first: int, rows: int) -> Iterator[tuple[int, int]]:
        """Rows past the last one that is written, from which on and how many; a ring's may start again in between."""
        at = first % self.rows
        for row, count in ((at, min(rows, self.rows - at)), (0, at + rows - self.rows)):
            if count > 0:
                yield row, count


def _fewer(buffer: Buffer, dimension: int, rows: int) -> Buffer:
    return replace(buffer, shape=(*buffer.shape[:dimension], rows, *buffer.shape[dimension + 1 :]))


def _round(index: tuple[Index, ...], dimension: int, rows: int) -> tuple[Index, ...]:
    return (*index[:dimension], index[dimension] % rows, *index[dimension + 1 :])
