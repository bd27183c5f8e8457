"""Chains of nests that are cut into strips: which rows run when, how many strips bring most, and what that saves."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from strop.core.memoize import remembered
from strop.core.values import cached_property
from strop.loops.calls import Call
from strop.loops.interleaved import InterleavedNests, InterleavedStep, Run
from strop.loops.ir import Buffer
from strop.schedule.access_ranges import RangedLoop, nodes
from strop.schedule.storage_folding import MOVED, FoldedStorage, Link
from strop.target.description import Target

MOST_STRIPS = 128
WORTH = 0.5  # share of the saving that must be left after the cost of calls, moves and repeated reads
CALL_US = 0.1  # what one more call of a nest costs
HIDDEN = 8  # operations per byte read, above which arithmetic hides a part of the loads


@dataclass(frozen=True)
class CacheLevel:
    """A cache that could hold the strips: its size, and the cycles lost per byte that is evicted before it is read.
    Such a byte is fetched from the next level before it is written, is written back there, and is fetched again in
    short runs."""

    size: float
    saved: float

    def stays(self, touched: float) -> float:
        """The share of a tensor that is still cached when it is read, after `touched` bytes. Sets are chosen by
        address, so some overflow long before the cache is full and some long after."""
        return max(0.0, 1 - touched / self.size / 2)


def levels(target: Target, threads: int) -> tuple[CacheLevel, ...]:
    _, l2, l3, memory = target.bandwidth
    return (
        CacheLevel(target.l2, (2 + target.hopped) / l3 - 2 / l2),
        CacheLevel(target.l3_ours / threads, 3 / memory - 2 / l3),
    )


@dataclass(frozen=True)
class InterleavedCalls(InterleavedNests):
    """Planned calls that take turns, a few rows at a time."""

    calls: tuple[Call, ...]

    @property
    def name(self) -> str:
        return f"{self.calls[0].name} … {self.calls[-1].name}"

    @property
    def touched(self) -> tuple[Buffer, ...]:
        return tuple(dict.fromkeys(b for call in self.calls for b in call.touched))


@dataclass(frozen=True)
class WindowChain:
    """Loops over rows in program order; a later one reads the result of each but the last. No step outside the chain
    uses the buffers in `inside`. `edged` has the bytes of zero padding of buffers that have some."""

    walks: tuple[RangedLoop, ...]
    inside: frozenset[Buffer]
    edged: Mapping[Buffer, int]

    @cached_property
    def links(self) -> list[Link] | None:
        """Producer-consumer pairs by reader; None where rows are not produced and consumed in order, or where no
        later loop reads a result."""
        found = []
        for reader, walk in enumerate(self.walks):
            for writer, before in enumerate(self.walks[:reader]):
                for buffer in (b for b in before.writes if b in walk.reads):
                    written, read = before.writes[buffer], walk.reads[buffer]
                    if written is None or read is None or written.dimension != read.dimension:
                        return None
                    found.append(Link(buffer, writer, reader, written, read))
        return found if {link.writer for link in found} == set(range(len(self.walks) - 1)) else None

    @cached_property
    def windowed(self) -> dict[Buffer, list[Link]]:
        """The intermediate tensors that need no full storage: every row of them is written in the same way."""
        found: dict[Buffer, list[Link]] = {}
        for link in self.links or ():
            alike = link.buffer not in self.edged or self.walks[link.writer].evenly(link.buffer)
            if link.buffer in self.inside and alike:
                found.setdefault(link.buffer, []).append(link)
        return found

    # ---- which rows when ----

    def starts(self, first: int) -> list[int]:
        """For each walk the first step that the last one's step `first` needs."""
        at = [walk.steps for walk in self.walks]
        at[-1] = first
        for link in reversed(self.links or ()):
            needed = bisect_right(link.written.end, link.read.low[at[link.reader]]) if first else 0
            at[link.writer] = min(at[link.writer], needed)
        return at

    def ends(self, end: int) -> list[int]:
        """For each walk the end of the steps that the last one's steps before `end` need."""
        at = [0 for _ in self.walks]
        at[-1] = end
        for link in reversed(self.links or ()):
            if at[link.reader]:
                needed = bisect_left(link.written.low, link.read.end[at[link.reader] - 1])
                at[link.writer] = max(at[link.writer], needed)
        return at

    def strips(self, parts: int, number: int) -> list[list[list[Run]]]:
        """What runs, for each part and strip of it."""
        extent = self.walks[-1].steps
        begin = [self.starts(extent * part // parts) for part in range(parts)]
        begin.append([walk.steps for walk in self.walks])
        made = []
        for part in range(parts):
            done, first, last = begin[part], extent * part // parts, extent * (part + 1) // parts
            strips = []
            for strip in range(1, number + 1):
                wanted = self.ends(first + (last - first) * strip // number)
                if strip == number:  # rows that no later walk reads belong to some part too
                    wanted = [max(a, b) for a, b in zip(wanted, begin[part + 1])]
                strips.append([Run(i, a, b) for i, (a, b) in enumerate(zip(done, wanted)) if a < b])
                done = [max(a, b) for a, b in zip(done, wanted)]
            made.append(strips)
        return made

    def cut(self, threads: int, number: int) -> ChosenWindow:
        """The chain in so many strips for each thread."""
        return _cut(self._key, threads, number)

    def _cut(self, threads: int, number: int) -> ChosenWindow:
        parts = self.strips(threads, number)
        windows = [FoldedStorage(b, links, b in self.edged, self.walks, parts) for b, links in self.windowed.items()]
        return ChosenWindow(self, parts, windows)

    def choose(self, target: Target, threads: int) -> ChosenWindow | None:
        """The number of strips that brings most; None where none bring enough."""
        return _chosen(self._key, target, threads)

    @property
    def _key(self) -> _ChainKey:
        here = {b for walk in self.walks for b in walk.call.touched}
        edged = tuple((b, size) for b, size in self.edged.items() if b in here)
        return _ChainKey(self.walks, self.inside, edged, tuple(nodes(walk.call) for walk in self.walks))

    def _choose(self, target: Target, threads: int) -> ChosenWindow | None:
        if not self.windowed:
            return None
        most = min(MOST_STRIPS, self.walks[-1].steps // threads)
        numbers = {n for n in (*_numbers(), *(walk.steps // threads for walk in self.walks)) if 1 < n <= most}
        cycle = 1 / target.ghz / 1e3
        again = sum(walk.again for walk in self.walks) / target.bandwidth[1] * cycle
        spared = self._spared(target, threads)
        limit = self._saved(0, target, threads) + spared
        best: ChosenWindow | None = None
        for number in sorted(numbers):
            calls = number * (CALL_US * len(self.walks) + again)
            if limit - calls <= (best.gain if best else 0):
                break
            one = self._cut(threads, number)
            saved = self._saved(sum(window.bytes for window in one.windows), target, threads) + spared
            moved = sum(window.work(cycle) for window in one.windows)
            gain = saved - calls - moved - self._twice(one.parts, target)
            if gain > WORTH * saved and (best is None or gain > best.gain):
                best = replace(one, gain=gain)
        return best

    def _saved(self, touched: float, target: Target, threads: int) -> float:
        """Microseconds of memory latency that each thread saves on intermediate tensors, where a strip touches this
        many bytes."""
        cycles = 0.0
        for buffer, links in self.windowed.items():
            work = min(self.walks[link.reader].work for link in links) / max(buffer.bytes, 1)
            between = max(self.walks[link.writer].bytes + self.walks[link.reader].bytes for link in links) / 2 / threads
            for level in levels(target, threads):
                stays = max(0.0, level.stays(touched) - level.stays(between))
                cycles += buffer.bytes / threads * level.saved * stays * min(1.0, HIDDEN / max(work, 1))
        return cycles / target.ghz / 1e3

    def _spared(self, target: Target, threads: int) -> float:
        """Microseconds of work that falls away: clearing padding that windows keep, and synchronising threads
        between nests."""
        zeros = [self.edged[b] for b in self.windowed if b in self.edged]
        meetings = len(self.walks) - 1 + len(zeros) if threads > 1 else 0
        return sum(zeros) / MOVED / target.ghz / 1e3 + len(zeros) * CALL_US + meetings * target.fork_join_us

    def _twice(self, parts: Sequence[Sequence[Sequence[Run]]], target: Target) -> float:
        """Microseconds of redundant work of the busiest thread: rows that several threads need are computed by each
        of them."""
        most = 0.0
        for part in parts:
            steps = [0] * len(self.walks)
            for run in (run for strip in part for run in strip):
                steps[run.call] += run.high - run.low
            most = max(most, sum(done / walk.steps * walk.work for done, walk in zip(steps, self.walks)))
        return (most - sum(walk.work for walk in self.walks) / len(parts)) / target.peak_gflops / 1e3


@dataclass(frozen=True)
class _ChainKey:
    """A chain as something to remember results by."""

    walks: tuple[RangedLoop, ...]
    inside: frozenset[Buffer]
    edged: tuple[tuple[Buffer, int], ...]
    nodes: tuple[tuple[tuple[str, ...], ...], ...]

    @property
    def chain(self) -> WindowChain:
        return WindowChain(self.walks, self.inside, dict(self.edged))


@remembered(maxsize=1024)
def _chosen(key: _ChainKey, target: Target, threads: int) -> ChosenWindow | None:
    return key.chain._choose(target, threads)


@remembered(maxsize=1024)
def _cut(key: _ChainKey, threads: int, number: int) -> ChosenWindow:
    return key.chain._cut(threads, number)


def _numbers() -> Iterator[int]:
    return accumulate(range(20), lambda n, _: n + max(1, n // 4), initial=2)


@dataclass(frozen=True)
class ChosenWindow:
    """A chain cut into strips."""

    chain: WindowChain
    parts: list[list[list[Run]]]
    windows: list[FoldedStorage]
    gain: float = 0.0  # microseconds

    @cached_property
    def group(self) -> InterleavedCalls:
        """Its calls in turns."""
        windows = {window.whole: window for window in self.windows}
        calls = []
        for walk in self.chain.walks:
            nest, actual = walk.nest, dict(walk.call.actual)
            for short, real in walk.call.actual.items():
                if real in windows:
                    nest, held = windows[real].place(nest, short)
                    del actual[short]
                    actual[held] = windows[real].buffer
            calls.append(replace(walk.call, nest=nest, actual=actual))
        return InterleavedCalls(
            tuple(calls), tuple(self._turns(number, part) for number, part in enumerate(self.parts))
        )

    def _turns(self, number: int, part: Sequence[Sequence[Run]]) -> tuple[InterleavedStep, ...]:
        made: list[InterleavedStep] = []
        planned = [window.turns(number) for window in self.windows]
        for strip, runs in enumerate(part):
            made += [turn for turns in planned for turn in turns[strip][1]]
            for run in runs:
                touched = self.chain.walks[run.call].call.touched
                shifts = [
                    (window.buffer, number * window.bytes - turns[strip][0] * window.row)
                    for window, turns in zip(self.windows, planned)
                    if window.whole in touched
                ]
                made.append(replace(run, shifts=tuple(shifts)))
        return tuple(made)
