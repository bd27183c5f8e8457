"""Producers and consumers of a large tensor run in strips: a few rows of one nest, then the rows of the next that can
be computed from them.

    expand rows 0…9    depthwise rows 0…4     expand rows 9…17    depthwise rows 4…8     …

The intermediate tensor needs storage for a window of rows only. The same few cache lines are written and read again and
again; the whole tensor never goes through memory. Every nest keeps its schedule; the loop over rows takes its bounds
from the caller and indexes the window (`schedule/storage_folding.py`). Each thread takes a part of the last nest's rows
and computes the rows of earlier nests that its part needs, so threads synchronise once, at the end.

The loop may also run over channels: a depthwise convolution reads only the channels that it writes, so nothing is kept
from one strip to the next and every weight is still read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from strop.core.journal import Journal
from strop.core.passes import Level, Pass, Verdict, no, yes
from strop.core.problem import Problem
from strop.loops.calls import Call, PlannedStep
from strop.loops.ir import Buffer, Const
from strop.loops.lowered import LibraryCall
from strop.loops.volume import volume
from strop.schedule.access_ranges import RangedLoop, ranged_loops
from strop.schedule.window_chain import MOST_STRIPS, ChosenWindow, InterleavedCalls, WindowChain
from strop.target.description import Target

LARGE = 0.25  # share of L2: smaller tensors are not considered


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
                one = _pass_of(chosen)
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
        made.append(_pass_of(chosen))
        journal.add("choice", chosen.chain.walks[0].call.name, _told(chosen))
    return tuple(made)


def interleaved(
    steps: Sequence[PlannedStep], windows: Sequence[SlidingWindow], target: Target, threads: int
) -> tuple[tuple[PlannedStep, ...], dict[int, InterleavedCalls]]:
    """Steps and groups of them by the place of their first call. Calls that a group does not need are moved before
    it. A call that only clears the padding of a tensor kept in windows is dropped: the group clears its windows
    itself."""
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
            groups[len(order)] = step.group
            order += [walk.call for walk in step.chain.walks]
        elif not (isinstance(step, Call) and _clears(step) and held.issuperset(step.written)):
            order.append(step)
    return tuple(order), groups


def _best(steps: Sequence[PlannedStep], target: Target, threads: int) -> dict[int, tuple[ChosenWindow, list[Call]]]:
    """The set of chains with the largest total gain, by the position where each starts; with the calls in between
    that a chain does not need."""
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


def _pass_of(chosen: ChosenWindow) -> SlidingWindow:
    """The pass that cuts a chain like this."""
    walks = chosen.chain.walks
    return SlidingWindow(tuple(w.call.name for w in walks), tuple(w.name for w in walks), len(chosen.parts[0]))


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
        self._walks: dict[int, tuple[RangedLoop, ...]] = {}
        for at, step in enumerate(steps):
            touched = (*step.inputs, *step.outputs) if isinstance(step, LibraryCall) else step.touched
            if isinstance(step, Call) and _clears(step):
                self.edged.update(dict.fromkeys(step.written, volume(step.nest)[1]))
                continue
            for buffer in dict.fromkeys(touched):
                self.users.setdefault(buffer, []).append(at)

    def walks(self, at: int) -> tuple[RangedLoop, ...]:
        if at not in self._walks:
            step = self.steps[at]
            self._walks[at] = ranged_loops(step) if isinstance(step, Call) else ()
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
