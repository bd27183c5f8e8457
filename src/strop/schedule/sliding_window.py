"""Nests that hand a large tensor on run in strips: a few rows of one, then the rows of the next that these allow.

    expand rows 0…9    depthwise rows 0…4     expand rows 9…17    depthwise rows 4…8     …

What is handed on needs a window of rows only. It is written to and read from the same few lines of the cache again and
again, instead of going through memory as a whole. Every nest keeps its schedule; the loop that walks over rows runs
between two bounds that the caller gives and finds each row in its place in the window (`schedule/storage_folding.py`).
Each thread takes a part of the rows of the last nest and computes for itself what that needs of the others, so threads
meet once at the end.

Rows may be channels as well: a depthwise convolution reads no others than it writes, so that nothing is kept from one
strip to the next and every weight is still read once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import ClassVar

from strop.core.journal import Journal
from strop.core.passes import Level, Pass, Verdict, no, yes
from strop.core.problem import Problem
from strop.loops.calls import Call, PlannedStep
from strop.loops.interleaved import InterleavedNests, InterleavedStep, Run
from strop.loops.ir import Buffer, Const
from strop.loops.lowered import LibraryCall
from strop.loops.volume import volume
from strop.schedule.access_ranges import RangedLoop, ranged_loops
from strop.schedule.storage_folding import MOVED, FoldedStorage, Link
from strop.target.description import Target

LARGE = 0.25  # of L2, from which on a tensor is looked at
MOST_STRIPS = 128
WORTH = 0.5  # of what is saved has to be left when calls, moves and what is read again are paid for
CALL_US = 0.1  # what one more call of a nest costs
HIDDEN = 8  # operations for each byte that is read, from which on others arrive meanwhile


@dataclass(frozen=True)
class CacheLevel:
    """A cache for strips: its size, and the cycles that a byte costs which does not stay there until it is read: it is
    fetched from below before it is written, goes there, and comes back in short runs."""

    size: float
    saved: float

    def stays(self, touched: float) -> float:
        """The share of a tensor that is still there when it is read, after so many bytes were touched: places in a
        cache are given out by address, so some are taken long before all are, and some long after."""
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
    """Walks in order, each but the last read by a later one. Buffers in `inside` are of no use to anybody else, those
    in `edged` have zeros around, of so many bytes."""

    walks: tuple[RangedLoop, ...]
    inside: frozenset[Buffer]
    edged: Mapping[Buffer, int]

    @cached_property
    def links(self) -> list[Link] | None:
        """By reader; None where rows don't come in order, or something is of no use to a later walk."""
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
        """What is handed on and needs no place of its own, each row written like the others."""
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
        parts = self.strips(threads, number)
        windows = [FoldedStorage(b, links, b in self.edged, self.walks, parts) for b, links in self.windowed.items()]
        return ChosenWindow(self, parts, windows)

    def choose(self, target: Target, threads: int) -> ChosenWindow | None:
        """The number of strips that brings most; None where none bring enough."""
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
            one = self.cut(threads, number)
            saved = self._saved(sum(window.bytes for window in one.windows), target, threads) + spared
            moved = sum(window.work(cycle) for window in one.windows)
            gain = saved - calls - moved - self._twice(one.parts, target)
            if gain > WORTH * saved and (best is None or gain > best.gain):
                best = replace(one, gain=gain)
        return best

    def _saved(self, touched: float, target: Target, threads: int) -> float:
        """Microseconds that each thread waits less for what is handed on, where a strip touches so many bytes."""
        cycles = 0.0
        for buffer, links in self.windowed.items():
            work = min(self.walks[link.reader].work for link in links) / max(buffer.bytes, 1)
            between = max(self.walks[link.writer].bytes + self.walks[link.reader].bytes for link in links) / 2 / threads
            for level in levels(target, threads):
                stays = max(0.0, level.stays(touched) - level.stays(between))
                cycles += buffer.bytes / threads * level.saved * stays * min(1.0, HIDDEN / max(work, 1))
        return cycles / target.ghz / 1e3

    def _spared(self, target: Target, threads: int) -> float:
        """Microseconds for what need not be done: zeros that windows keep, and threads that wait for each other."""
        zeros = [self.edged[b] for b in self.windowed if b in self.edged]
        meetings = len(self.walks) - 1 + len(zeros) if threads > 1 else 0
        return sum(zeros) / MOVED / target.ghz / 1e3 + len(zeros) * CALL_US + meetings * target.fork_join_us

    def _twice(self, parts: Sequence[Sequence[Sequence[Run]]], target: Target) -> float:
        """Microseconds that the busiest thread computes more than its share: what several need is computed by each."""
        most = 0.0
        for part in parts:
            steps = [0] * len(self.walks)
            for run in (run for strip in part for run in strip):
                steps[run.call] += run.high - run.low
            most = max(most, sum(done / walk.steps * walk.work for done, walk in zip(steps, self.walks)))
        return (most - sum(walk.work for walk in self.walks) / len(parts)) / target.peak_gflops / 1e3


def _numbers() -> Iterator[int]:
    return accumulate(range(20), lambda n, _: n + max(1, n // 4), initial=2)


@dataclass(frozen=True)
class ChosenWindow:
    """A chain cut into strips."""

    chain: WindowChain
    parts: list[list[list[Run]]]
    windows: list[FoldedStorage]
    gain: float = 0.0  # microseconds

    @property
    def window(self) -> SlidingWindow:
        """The pass that cuts it like this."""
        walks = self.chain.walks
        return SlidingWindow(tuple(w.call.name for w in walks), tuple(w.name for w in walks), len(self.parts[0]))

    def group(self) -> InterleavedCalls:
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


# ---- the pass --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interleaving:
    """Steps of a program, and which of them take turns."""

    steps: tuple[PlannedStep, ...]
    target: Target
    threads: int
    windows: tuple[SlidingWindow, ...] = ()


@dataclass(frozen=True)
class SlidingWindow(Pass):
    """for i: b[i] = f(i); for j: S(b[j])   →   for each strip: {some rows of b; the rows of S that these allow}

    `nests` run in turns, each along its loop in `along`; what they hand on needs storage for a window of rows only.
    """

    level: ClassVar[Level] = "windows"

    nests: tuple[str, ...]
    along: tuple[str, ...]
    strips: int

    def check(self, ir: Interleaving) -> Verdict:
        return self.chosen(_Finder(ir.steps, ir.target, ir.threads), ir.windows)[1]

    def apply(self, ir: Interleaving) -> Interleaving:
        return replace(ir, windows=(*ir.windows, self))

    def chosen(
        self, finder: _Finder, others: Sequence[SlidingWindow] = ()
    ) -> tuple[tuple[int, ChosenWindow, list[Call]] | None, Verdict]:
        """The chain cut into strips, where it starts, and the calls in between that it does not need."""
        if len(self.nests) != len(self.along) or len(self.nests) < 2:
            return None, no("two nests or more take turns, each along one of its loops")
        places = [at for at, step in enumerate(finder.steps) if step.name in self.nests]
        if [finder.steps[at].name for at in places] != list(self.nests):
            return None, no(f"there are no steps {', '.join(self.nests)} in this order")
        taken = next((name for other in others for name in other.nests if name in self.nests), None)
        if taken is not None:
            return None, no(f"`{taken}` takes turns with others already", taken)
        walks = []
        for at, loop in zip(places, self.along):
            walk = next((walk for walk in finder.walks(at) if walk.name == loop), None)
            if walk is None:
                return None, no(f"it cannot run a part of `{loop}` at a time", finder.steps[at].name)
            walks.append(walk)
        between = finder.between(walks, places)
        if between is None:
            return None, no("a step in between needs what these compute, or computes what they need", self.nests[0])
        chain = WindowChain(tuple(walks), finder.inside(walks[:-1], places), finder.edged)
        if chain.links is None or not chain.windowed:
            return None, no("what one hands on does not come in order of rows, or others read it", self.nests[0])
        most = min(MOST_STRIPS, walks[-1].steps // finder.threads)
        if not 1 < self.strips <= most:
            return None, no(f"there may be 2 to {most} strips, got {self.strips}", self.nests[0])
        return (places[0], chain.cut(finder.threads, self.strips), between), yes()

    @classmethod
    def space(cls, ir: Interleaving) -> Iterator[SlidingWindow]:
        """Every chain that would gain something, with the number of strips that is best for it."""
        finder = _Finder(ir.steps, ir.target, ir.threads)
        taken = {name for one in ir.windows for name in one.nests}
        for at in range(len(ir.steps)):
            for chosen, _ in finder.chains(at):
                one = chosen.window
                if taken.isdisjoint(one.nests):
                    yield one


# ---- finding chains --------------------------------------------------------------------------------------------------


def plan_windows(
    steps: Sequence[PlannedStep], target: Target, threads: int, journal: Journal
) -> tuple[SlidingWindow, ...]:
    """The chains that bring most together."""
    found = _best(steps, target, threads)
    made = []
    at = 0
    while at < len(steps):
        if at not in found:
            at += 1
            continue
        chosen, apart = found[at]
        at += len(apart) + len(chosen.chain.walks)
        made.append(chosen.window)
        journal.add("choice", chosen.chain.walks[0].call.name, _told(chosen))
    return tuple(made)


def interleaved(
    steps: Sequence[PlannedStep], windows: Sequence[SlidingWindow], target: Target, threads: int
) -> tuple[tuple[PlannedStep, ...], dict[int, InterleavedCalls]]:
    """Steps and groups of them by the place of their first call. What a group does not need comes before it, and zeros
    around the edge of what it holds in windows are left to it."""
    finder = _Finder(steps, target, threads)
    chains: dict[int, tuple[ChosenWindow, list[Call]]] = {}
    for one in windows:
        found, verdict = one.chosen(finder)
        if found is None:
            raise Problem("STR301", f"{one}: {verdict.why}", where=verdict.where)
        chains[found[0]] = found[1:]
    made: list[PlannedStep | ChosenWindow] = []
    at = 0
    while at < len(steps):
        if at not in chains:
            made.append(steps[at])
            at += 1
            continue
        chosen, apart = chains[at]
        made += [*apart, chosen]
        at += len(apart) + len(chosen.chain.walks)
    held = {window.whole for one in made if isinstance(one, ChosenWindow) for window in one.windows}
    order: list[PlannedStep] = []
    groups: dict[int, InterleavedCalls] = {}
    for step in made:
        if isinstance(step, ChosenWindow):
            groups[len(order)] = step.group()
            order += [walk.call for walk in step.chain.walks]
        elif not (isinstance(step, Call) and _clears(step) and held.issuperset(step.written)):
            order.append(step)
    return tuple(order), groups


def _best(steps: Sequence[PlannedStep], target: Target, threads: int) -> dict[int, tuple[ChosenWindow, list[Call]]]:
    """The chains that bring most together, by the place where they start; and calls that each does not need."""
    finder = _Finder(steps, target, threads)
    gain = [0.0] * (len(steps) + 1)
    best: dict[int, tuple[ChosenWindow, list[Call]]] = {}
    for at in reversed(range(len(steps))):
        gain[at] = gain[at + 1]
        for chosen, apart in finder.chains(at):
            whole = chosen.gain + gain[at + len(apart) + len(chosen.chain.walks)]
            if whole > gain[at]:
                gain[at], best[at] = whole, (chosen, apart)
    return best


def _told(chosen: ChosenWindow) -> str:
    others = ", ".join(walk.call.name for walk in chosen.chain.walks[1:])
    part, whole = sum(w.bytes for w in chosen.windows) / 1e3, sum(w.whole.bytes for w in chosen.windows) / 1e6
    return f"in {len(chosen.parts[0])} strips with {others}: {part:.0f} kB of {whole:.1f} MB at a time"


def grouped(
    steps: Sequence[PlannedStep], groups: Mapping[int, InterleavedCalls]
) -> list[PlannedStep | InterleavedCalls]:
    """The steps with every group as one."""
    made: list[PlannedStep | InterleavedCalls] = []
    at = 0
    while at < len(steps):
        made.append(groups.get(at, steps[at]))
        at += len(groups[at].calls) if at in groups else 1
    return made


def _clears(call: Call) -> bool:
    """Whether a call does nothing but write zeros."""
    return all(isinstance(s.value, Const) and s.value.value == 0 and not s.reduce for s in call.nest.stores)


class _Finder:
    def __init__(self, steps: Sequence[PlannedStep], target: Target, threads: int) -> None:
        self.steps, self.target, self.threads = steps, target, threads
        self.users: dict[Buffer, list[int]] = {}
        self.edged: dict[Buffer, int] = {}
        self._walks: dict[int, list[RangedLoop]] = {}
        for at, step in enumerate(steps):
            touched = (*step.inputs, *step.outputs) if isinstance(step, LibraryCall) else step.touched
            if isinstance(step, Call) and _clears(step):
                self.edged.update(dict.fromkeys(step.written, volume(step.nest)[1]))
                continue
            for buffer in dict.fromkeys(touched):
                self.users.setdefault(buffer, []).append(at)

    def walks(self, at: int) -> list[RangedLoop]:
        if at not in self._walks:
            step = self.steps[at]
            self._walks[at] = list(ranged_loops(step)) if isinstance(step, Call) else []
        return self._walks[at]

    def chains(self, at: int) -> Iterator[tuple[ChosenWindow, list[Call]]]:
        """Every chain that starts at a step, cut into strips; and calls among its own that it does not need."""
        first = self.steps[at]
        if isinstance(first, Call) and any(self._large(b) for b in first.written):
            for start in self.walks(at):
                yield from self._grown(at, start)

    def _large(self, buffer: Buffer) -> bool:
        return buffer.space == "arena" and buffer.bytes / self.threads > LARGE * self.target.l2

    def inside(self, walks: Sequence[RangedLoop], places: Sequence[int]) -> frozenset[Buffer]:
        """What walks write that nobody but the steps at these places uses."""
        written = {b for walk in walks for b in walk.writes if set(self.users[b]).issubset(places)}
        return frozenset(b for b in written if b.space == "arena")

    def between(self, walks: Sequence[RangedLoop], places: Sequence[int]) -> list[Call] | None:
        """Calls between the steps of a chain, where they need nothing of it and it nothing of them; else None."""
        apart: list[Call] = []
        for place in range(places[0], places[-1] + 1):
            if place in places:
                continue
            step = self.steps[place]
            before = [walk for walk, at in zip(walks, places) if at < place]
            touched = {b for walk in before for b in walk.call.touched}
            written = {b for walk in before for b in walk.call.written}
            if not isinstance(step, Call) or touched & set(step.written) or written & set(step.touched):
                return None
            apart.append(step)
        return apart

    def _grown(self, at: int, start: RangedLoop) -> Iterator[tuple[ChosenWindow, list[Call]]]:
        chain: tuple[RangedLoop, ...] = (start,)
        places, apart = [at], list[Call]()
        for place in range(at + 1, len(self.steps)):
            step = self.steps[place]
            if not isinstance(step, Call):
                break
            touched = {b for walk in chain for b in walk.call.touched}
            written = {b for walk in chain for b in walk.call.written}
            if touched.isdisjoint(step.written) and written.isdisjoint(step.touched):
                apart.append(step)
                continue
            places.append(place)
            longer = self._longer(chain, place, places) if touched.isdisjoint(step.written) else None
            if longer is None:
                break
            chain = longer.chain.walks
            yield longer, list(apart)

    def _longer(self, chain: tuple[RangedLoop, ...], place: int, places: Sequence[int]) -> ChosenWindow | None:
        """The chain with one more call, which reads something large of it."""
        for walk in self.walks(place):
            handed = [b for before in chain for b in before.writes if b in walk.reads and self._large(b)]
            inside = self.inside(chain, places)
            if inside.isdisjoint(handed):
                continue
            longer = WindowChain((*chain, walk), inside, self.edged)
            chosen = longer.choose(self.target, self.threads)
            if chosen is not None:
                return chosen
        return None
