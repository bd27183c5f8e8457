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
from strop.loops.ir import Buffer, Nest, rename
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
        last = self.links[0].written.end[-1]
        made: list[tuple[int, list[Clear | Move]]] = []
        base = 0 if self.ring else self.spans[part][0][0]
        for strip, (low, before, end) in enumerate(self.spans[part]):
            todo: list[Clear | Move] = []
            if strip == 0 and self.edged:
                todo.append(Clear(self.buffer, start, self.bytes))
            if not self.ring and end - base > self.rows:
                todo += self._carried(start, low - base, before - low)
                base = low
            if end > last and strip:
                todo += self._zeros(start, last - base, end - last)
            made.append((base, todo))
        return made

    def _carried(self, start: int, skip: int, rows: int) -> Iterator[Move]:
        """Rows that go to the start of each plane, past those that are skipped."""
        for plane in range(start, start + self.bytes, self.plane):
            if rows > 0:
                yield Move(self.buffer, plane, plane + skip * self.row, rows * self.row)

    def _zeros(self, start: int, first: int, rows: int) -> Iterator[Clear]:
        """Rows past the last one that is written, in each plane; a ring's may start again in between."""
        at = first % self.rows
        pieces = [(at, min(rows, self.rows - at)), (0, at + rows - self.rows)]
        for plane in range(start, start + self.bytes, self.plane):
            for row, count in pieces:
                if count > 0:
                    yield Clear(self.buffer, plane + row * self.row, count * self.row)

    def work(self, cycle: float) -> float:
        """Microseconds that one thread takes to move and clear."""
        todo = [one for _, turns in self.turns(0) for one in turns]
        return MOVE_US * len(todo) + sum(one.size for one in todo) / MOVED * cycle


def _fewer(buffer: Buffer, dimension: int, rows: int) -> Buffer:
    return replace(buffer, shape=(*buffer.shape[:dimension], rows, *buffer.shape[dimension + 1 :]))


def _round(index: tuple[Index, ...], dimension: int, rows: int) -> tuple[Index, ...]:
    return (*index[:dimension], index[dimension] % rows, *index[dimension + 1 :])
