"""The arena: every intermediate tensor gets an offset before anything runs; those never alive at once share bytes.

place{tensor=conv1.relu at=802816}

In halves of training steps, what a nest computes element by element may take the place of what it reads for the last
time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from strop.core.extents import Extent
from strop.core.passes import VERIFIERS, Level, Pass, Verdict, no, yes
from strop.core.problem import Problem
from strop.core.values import cached_property
from strop.loops.calls import Call
from strop.loops.ir import Buffer, Nest, Store

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
    return padded(buffer.bytes)


def padded(size: int) -> int:
    return (max(size, 1) + SLACK + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@dataclass(frozen=True)
class Borders:
    """What a program shares its arena with, if it is half of a training step: tensors that it is given and those that
    it returns, some at places that are fixed, and the weights that it packs on its way."""

    given: Mapping[Buffer, int] = field(default_factory=dict)  # with their places
    lasting: frozenset[Buffer] = frozenset()  # those of them that are read after the end, too
    returned: Mapping[Buffer, int | None] = field(default_factory=dict)  # with their places, where these are fixed
    packed: frozenset[Buffer] = frozenset()

    def __contains__(self, buffer: object) -> bool:
        return buffer in self.given or buffer in self.returned or buffer in self.packed

    @property
    def fixed(self) -> dict[Buffer, int]:
        return {**self.given, **{buffer: at for buffer, at in self.returned.items() if at is not None}}


#: a tensor that has its place: the first and the last step that touches it, where it starts and ends, and which it is
Resident = tuple[int, int, int, int, Buffer]


@dataclass(frozen=True)
class Lifetimes:
    """The tensors of a space by the first and the last step that touches each, and where some of them lie."""

    first: Mapping[Buffer, int]
    last: Mapping[Buffer, int]
    offsets: Mapping[str, int] = field(default_factory=dict)
    borders: Borders = field(default_factory=lambda: Borders())
    replacing: Mapping[Buffer, frozenset[Buffer]] = field(default_factory=dict)  # what each may take the place of

    @staticmethod
    def of(steps: Sequence[Iterable[Buffer]], space: str = "arena", borders: Borders | None = None) -> Lifetimes:
        """From what each step touches; with what of the program's borders lies in the same memory."""
        borders = borders or Borders()
        first: dict[Buffer, int] = dict.fromkeys(borders.given, 0)
        last: dict[Buffer, int] = dict.fromkeys(borders.given, 0)
        for position, touched in enumerate(steps):
            for buffer in touched:
                if buffer.space == space or buffer in borders:
                    first.setdefault(buffer, position)
                    last[buffer] = position
        last.update(dict.fromkeys((*borders.lasting, *borders.returned), len(steps)))
        for buffer in borders.returned:
            first.setdefault(buffer, len(steps))
        return Lifetimes(first, last, borders=borders)

    def meet(self, a: Buffer, b: Buffer) -> bool:
        """Whether two tensors are alive at once."""
        return self.first[a] <= self.last[b] and self.first[b] <= self.last[a]

    def replaces(self, a: Buffer, b: Buffer) -> bool:
        """Whether one of two tensors takes the place of the other in the step in which they meet."""
        return b in self.shared.get(a, ())

    @cached_property
    def shared(self) -> Mapping[Buffer, set[Buffer]]:
        """For each tensor those whose place it takes, and those that take its place."""
        found: dict[Buffer, set[Buffer]] = {}
        for buffer, others in self.replacing.items():
            for other in others:
                found.setdefault(buffer, set()).add(other)
                found.setdefault(other, set()).add(buffer)
        return found

    def resident(self, buffer: Buffer, at: int) -> Resident:
        return self.first[buffer], self.last[buffer], at, at + room(buffer), buffer

    @cached_property
    def named(self) -> Mapping[str, Buffer]:
        return {buffer.name: buffer for buffer in self.first}

    @cached_property
    def arena(self) -> Arena:
        offsets = {buffer: self.offsets[buffer.name] for buffer in self.first}
        return Arena(offsets, max((at + room(b) for b, at in offsets.items()), default=0))


@dataclass(frozen=True)
class Place(Pass):
    """a tensor without a place  →  one that lies so many bytes behind the start of the arena"""

    level: ClassVar[Level] = "memory"

    tensor: str
    at: int

    def check(self, ir: Lifetimes) -> Verdict:
        buffer = ir.named.get(self.tensor)
        if buffer is None:
            return no(f"there is no tensor `{self.tensor}` in the arena")
        if self.at < 0 or self.at % ALIGNMENT:
            return no(f"a tensor starts at a multiple of {ALIGNMENT} bytes, got {self.at}", self.tensor)
        if ir.borders.fixed.get(buffer, self.at) != self.at:
            return no("the other half of the training step expects it elsewhere", self.tensor)
        for name, at in ir.offsets.items():
            other = ir.named[name]
            overlap = self.at < at + room(other) and at < self.at + room(buffer)
            in_place = at == self.at and ir.replaces(buffer, other)
            if other != buffer and overlap and ir.meet(buffer, other) and not in_place:
                return no(f"`{name}` lies there while it is alive", self.tensor)
        return yes()

    def apply(self, ir: Lifetimes) -> Lifetimes:
        return self.apply_all(ir, (self,))

    @classmethod
    def apply_all(cls, ir: Lifetimes, passes: Sequence[Place]) -> Lifetimes:
        return replace(ir, offsets={**ir.offsets, **{one.tensor: one.at for one in passes}})

    @classmethod
    def space(cls, ir: Lifetimes) -> Iterator[Place]:
        """For each tensor its own place, and the lowest that is free while it is alive."""
        for buffer in ir.first:
            others = [b for b in ir.first if b != buffer and b.name in ir.offsets]
            yield cls(buffer.name, _lowest(buffer, [ir.resident(b, ir.offsets[b.name]) for b in others], ir))


def verify_places(lifetimes: Lifetimes, step: str) -> None:
    """Raise where two tensors that are alive at once share bytes, or one lies where none can."""
    for name, at in lifetimes.offsets.items():
        verdict = Place(name, at).check(lifetimes)
        if not verdict:
            raise Problem("STR303", f"`{name}` after `{step}`: {verdict.why}")


VERIFIERS[Lifetimes] = verify_places


def _lowest(buffer: Buffer, placed: Iterable[Resident], lifetimes: Lifetimes) -> int:
    """The lowest offset at which a tensor overlaps none that is alive at the same time, or that of one whose place it
    takes, or that takes its place."""
    made, dies, size = lifetimes.first[buffer], lifetimes.last[buffer], room(buffer)
    met = [(start, end, other) for first, last, start, end, other in placed if first <= dies and made <= last]
    for at, end, other in met if buffer in lifetimes.shared else ():
        apart = (stop <= at or end <= start or one is other for start, stop, one in met)
        if lifetimes.replaces(buffer, other) and all(apart):
            return at
    offset = 0
    for start, end in sorted((start, end) for start, end, _ in met):
        if offset + size <= start:
            break
        offset = max(offset, end)
    return offset


def plan_memory(lifetimes: Lifetimes) -> list[Place]:
    """Places for all tensors; large ones choose first, after those whose places are fixed. In half of a training step,
    where tensors of all ages lie around what is kept, those that live long may have to: whatever takes less."""
    tried = [_by_size(lifetimes)]
    if lifetimes.borders.fixed:
        tried.append(_by_size_and_age(lifetimes))
    placed = min((_placed(lifetimes, order) for order in tried), key=_end)
    return [Place(buffer.name, at) for buffer, at in placed]


def _by_size(lifetimes: Lifetimes) -> list[Buffer]:
    return sorted(lifetimes.first, key=lambda b: (-room(b), lifetimes.first[b], b.name))


def _by_size_and_age(lifetimes: Lifetimes) -> list[Buffer]:
    first, last = lifetimes.first, lifetimes.last
    return sorted(first, key=lambda b: (-room(b) * (last[b] - first[b] + 1), first[b], b.name))


def _placed(lifetimes: Lifetimes, order: Iterable[Buffer]) -> list[tuple[Buffer, int]]:
    """Each tensor in turn at the lowest place that is free for it."""
    fixed = lifetimes.borders.fixed
    placed = [lifetimes.resident(buffer, at) for buffer, at in fixed.items()]
    for buffer in order:
        if buffer not in fixed:
            placed.append(lifetimes.resident(buffer, _lowest(buffer, placed, lifetimes)))
    return [(buffer, start) for _, _, start, _, buffer in placed]


def _end(placed: Iterable[tuple[Buffer, int]]) -> int:
    return max((at + room(buffer) for buffer, at in placed), default=0)


def replaceable(call: Call) -> Iterator[tuple[Buffer, Buffer]]:
    """Pairs of a tensor that a call computes and one that it reads at the same places only, each element for the last
    time before it writes the other there."""
    found = dict.fromkeys((*_element_by_element(call.source), *_finished(call.nest, call.actual)))
    yield from found


def _element_by_element(nest: Nest) -> Iterator[tuple[Buffer, Buffer]]:
    """Those of a nest whose statements follow each other in every step: it may read the element for all of them up to
    the one that writes, whatever order the steps have in its schedule."""
    body = [item for item in nest.body if isinstance(item, Store)]
    if len(body) < len(nest.body) or any(loop.kind != "parallel" for loop in nest.loops):
        return
    for position, store in enumerate(body):
        target = store.target
        alone = [one.target for one in body].count(target) == 1 and target not in nest.scratch
        if not alone or store.reduce is not None or store.guards or nest.iterations != target.size:
            continue
        later = {load.buffer for one in body[position + 1 :] for load in one.loads}
        for source in dict.fromkeys(load.buffer for store in body for load in store.loads):
            reads = [load for one in body for load in one.loads if load.buffer == source]
            if _alike(source, target) and source not in later and {r.offset for r in reads} == {store.offset}:
                yield target, source


def _finished(nest: Nest, actual: Mapping[Buffer, Buffer]) -> Iterator[tuple[Buffer, Buffer]]:
    """Those of a scheduled nest that reads the element in the statement alone that writes it, once for each of them:
    what is done to a sum when it is there."""
    written: dict[Buffer, list[tuple[Store, Extent]]] = {}
    if any(loop.kind == "sequential" for loop in nest.all_loops):
        return
    for store, times in _with_iterations(nest, 1):
        if store.target in actual:
            written.setdefault(store.target, []).append((store, times))
    for target, stores in written.items():
        if sum(times for _, times in stores) != target.size or any(s.reduce or s.guards for s, _ in stores):
            continue
        places = {id(store): store.offset for store, _ in stores}
        for source in dict.fromkeys(load.buffer for store, _ in stores for load in store.loads):
            reads = [(id(s), load) for s in nest.stores for load in s.loads if load.buffer == source]
            there = all(places.get(at) == load.offset and not load.guards for at, load in reads)
            if source in actual and _alike(source, target) and there:
                yield actual[target], actual[source]


def _with_iterations(nest: Nest, times: Extent) -> Iterator[tuple[Store, Extent]]:
    """The statements of a nest, and how often each is done."""
    times = times * nest.iterations
    for item in nest.body:
        if isinstance(item, Nest):
            yield from _with_iterations(item, times)
        else:
            yield item, times


def _alike(a: Buffer, b: Buffer) -> bool:
    return a != b and a.dtype == b.dtype and a.size == b.size


def arena_of(steps: Sequence[Iterable[Buffer]], space: str = "arena") -> Arena:
    """Places for the tensors that steps touch in a space."""
    lifetimes = Lifetimes.of(steps, space)
    return Place.apply_all(lifetimes, plan_memory(lifetimes)).arena
