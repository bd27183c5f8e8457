"""Bytes that a scheduled nest moves between the levels of memory, from the footprints of its loops.

What one execution of a loop touches is counted in lines (of a cache, or pages of a TLB). Where that fits a level, each
line is fetched once. Where only the body fits, an iteration reuses what the one before has fetched. Where not even the
body fits, every iteration fetches everything again. The transition is gradual, because neither replacement nor the
distribution over sets is ideal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from strop.codegen.access import FEWEST_TURNED
from strop.core.dtypes import SIZES
from strop.core.memoize import remembered
from strop.core.values import cached_property
from strop.loops.index import Index, Indirect, Quotient, Remainder, Var
from strop.loops.ir import Buffer, Loop, Nest, Store, loads


@dataclass(frozen=True)
class MemoryLevel:
    """A cache as its users see it: `lines` of `line` bytes in `sets` sets, and how well it keeps what is in it."""

    name: str
    lines: int
    line: int
    sets: int = 1
    tight: float = 0.9  # the share up to which everything stays
    full: float = 1.5  # the share from which nothing stays


@dataclass(frozen=True)
class MemoryAccess:
    """One read or write of a statement, and the part of the nest (a tile) that it belongs to."""

    part: int
    buffer: Buffer
    offset: Index
    writes: bool
    small: bool = False  # written element by element


@dataclass
class LoopNode:
    """A loop around a sequence of nodes, or a statement with its accesses."""

    loop: Loop | None = None
    children: list[LoopNode] = field(default_factory=list)
    own: tuple[MemoryAccess, ...] = ()

    @cached_property
    def body(self) -> LoopNode:
        """One iteration."""
        return LoopNode(None, self.children)

    @cached_property
    def accesses(self) -> tuple[MemoryAccess, ...]:
        if not self.own and len(self.children) == 1:
            return self.children[0].accesses
        return tuple(dict.fromkeys((*self.own, *(a for child in self.children for a in child.accesses))))

    @cached_property
    def reached(self) -> list[tuple[list[MemoryAccess], list[tuple[int, int]]]]:
        """Accesses that move alike over a buffer, and the steps in which they do."""
        groups: dict[tuple[Buffer, tuple[object, ...]], list[MemoryAccess]] = {}
        for access in self.accesses:
            groups.setdefault((access.buffer, access.offset.terms), []).append(access)
        return [(group, steps(group[0].offset, self.vars)) for group in groups.values()]

    @cached_property
    def vars(self) -> frozenset[Var]:
        inner = frozenset[Var]().union(*(child.vars for child in self.children))
        return inner | {self.loop.var} if self.loop is not None else inner


def tree(
    nest: Nest,
    parts: dict[Nest, int],
    local: frozenset[Buffer],
    part: int = 0,
    lane: Var | None = None,
    copied: frozenset[Var] = frozenset(),
) -> LoopNode:
    """The nest as nodes; scratch in registers (`local`) is no access. `copied` are variables that are written out."""
    part = parts.get(nest, part)
    lane = next((loop.var for loop in nest.loops if loop.mode == "vector"), lane)
    copied |= {loop.var for loop in nest.loops if loop.mode == "unroll"}
    children = [
        _statement(item, part, local, lane, copied)
        if isinstance(item, Store)
        else tree(item, parts, local, part, lane, copied)
        for item in nest.body
    ]
    node = LoopNode(None, children)
    for loop in reversed(nest.loops):
        node = LoopNode(loop, node.children if node.loop is None else [node])
    return node


def _statement(store: Store, part: int, local: frozenset[Buffer], lane: Var | None, copied: frozenset[Var]) -> LoopNode:
    found = [MemoryAccess(part, load.buffer, load.offset, False) for load in loads(store) if load.buffer not in local]
    if store.target not in local:
        offset = store.offset
        turned = any(offset.coefficient(var) == 1 and var.extent >= FEWEST_TURNED for var in copied)
        small = lane is None or (offset.coefficient(lane) != 1 and not turned)
        found.append(MemoryAccess(part, store.target, offset, True, small))
    return LoopNode(own=tuple(found))


def steps(offset: Index, moving: frozenset[Var]) -> list[tuple[int, int]]:
    """(stride, count) of the elements that an offset reaches while some variables move, smallest stride first."""
    found: dict[int, int] = {}
    for atom, factor in offset.terms:
        count = _values(atom, moving)
        if count > 1:
            found[abs(factor)] = found.get(abs(factor), 1) + count - 1
    merged: list[tuple[int, int]] = []
    for stride, count in sorted(found.items()):
        if merged and stride % merged[-1][0] == 0 and stride // merged[-1][0] <= merged[-1][1]:
            first, length = merged[-1]
            merged[-1] = (first, length + stride // first * (count - 1))
        else:
            merged.append((stride, count))
    return merged


def _values(atom: Var | Quotient | Remainder | Indirect, moving: frozenset[Var]) -> int:
    """How many values an atom takes while some variables move."""
    if isinstance(atom, Var):
        return atom.extent if atom in moving else 1
    if isinstance(atom, Indirect):
        count = 1
        for var in atom.value.vars:
            count *= var.extent if var in moving else 1
        return min(atom.extent, count)
    span: int = sum((_values(inner, moving) - 1) * abs(factor) for inner, factor in atom.of.terms)
    if isinstance(atom, Quotient):
        return int(span // atom.by) + 1
    return int(min(atom.by, span + 1))


class Key(NamedTuple):
    """Who fetches: the part of the nest, the buffer, whether it is written, whether lines are used in small pieces, and
    whether they are written element by element."""

    part: int
    buffer: Buffer
    writes: bool
    scattered: bool
    small: bool


Lines = dict[Key, float]
_MOST_RUNS = 2048  # more fill every set
STREAMS = 32  # streams that the hardware prefetcher follows at a time
HOPS = 8  # interleaved streams: from here on the prefetcher does not fetch ahead in any of them
SHORT_RUN = 4  # lines: a shorter stream ends before the prefetcher has detected it
FAR_TOO_MANY = 4  # times what a level holds: nothing stays, wherever it lies


class _Touched(NamedTuple):
    lines: float
    crowded: float  # the share of the sets that it can reach which it fills
    span: int
    run: int  # elements that lie side by side


def touched(offset: Index, buffer: Buffer, moving: frozenset[Var], level: MemoryLevel) -> _Touched:
    """Lines that an access reaches while some variables move."""
    return _touched_in(steps(offset, moving), buffer, level)


def _touched_in(strides: Sequence[tuple[int, int]], buffer: Buffer, level: MemoryLevel) -> _Touched:
    size = SIZES[buffer.dtype]
    line = max(1, level.line // size)
    run, count, span = 1, 1, 1
    far: list[tuple[int, int]] = []
    for stride, number in strides:
        span += stride * (number - 1)
        if stride <= run + line - 1:
            run += stride * (number - 1)
        else:
            count *= number
            far.append((stride, number))
    aligned = all(stride % line == 0 for stride, _ in far) and (run % line == 0 or count == 1)
    per_run = max(1.0, run / line if aligned else (run - 1) / line + 1)
    whole = -(-buffer.size // line)
    lines = min(count * per_run, float(whole))
    if level.sets <= 1 or lines <= 1 or lines > FAR_TOO_MANY * level.lines:
        return _Touched(lines, lines / level.lines, span, run)
    return _Touched(lines, _crowding(tuple(far), run, line, level), span, run)


@remembered(maxsize=65536)
def _crowding(far: tuple[tuple[int, int], ...], run: int, line: int, level: MemoryLevel) -> float:
    """How full the sets are that runs of elements at some strides fall on, as the average line finds them."""
    first = np.zeros(1, np.int64)
    for stride, number in far:
        if len(first) * number > _MOST_RUNS:
            return 0.0
        first = (first[:, None] + np.arange(number) * stride).ravel()
    within = np.append(np.arange(0, run, line), run - 1)
    lines = np.sort(((first[:, None] + within) // line).ravel())
    occupied = lines[np.append(True, lines[1:] != lines[:-1])]
    full = np.bincount(occupied % level.sets).astype(np.float64)
    return float(full @ full) / len(occupied) / (level.lines / level.sets)


def unforeseen(nest: Nest, level: MemoryLevel, by_lanes: bool = True) -> frozenset[Buffer]:
    """What a sum reads in more short streams than the hardware prefetcher can follow: each line from beyond L2 then
    costs its full latency. Lanes that lie side by side belong to one run, unless only the steps of the sum are
    looked at (not `by_lanes`)."""
    loops = nest.all_loops
    moving = frozenset(loop.var for loop in loops if loop.kind == "reduce")
    lanes = frozenset(loop.var for loop in loops if loop.mode == "vector" and by_lanes)
    found = set()
    for load in (load for store in nest.stores for load in loads(store) if load.buffer.space != "scratch"):
        aside = frozenset(var for var in lanes if load.offset.coefficient(var) == 1)
        if moving and _in_short_runs(load.offset, load.buffer, moving | aside, level):
            found.add(load.buffer)
    return frozenset(found)


def hopping(nest: Nest, around: Sequence[Loop], level: MemoryLevel) -> dict[Buffer, float]:
    """What a nest without sums goes through in many runs before it comes back to where the first ended, with the lines
    of a run: the first ones of each are not fetched ahead. Where a run is within a line, they are: all steps are the
    same."""
    loops = (*around, *nest.all_loops)
    serial = [loop.var for loop in loops if loop.mode in ("serial", "threads") and loop.extent > 1]
    if any(loop.kind != "parallel" for loop in loops):
        return {}
    inside = frozenset(loop.var for loop in loops if loop.mode in ("vector", "unroll"))
    accesses = [(load.offset, load.buffer) for store in nest.stores for load in loads(store)]
    accesses += [(store.offset, store.target) for store in nest.stores]
    found: dict[Buffer, float] = {}
    for offset, buffer in accesses:
        for count in range(1, len(serial) + 1) if buffer.space != "scratch" else ():
            one = touched(offset, buffer, inside | frozenset(serial[-count:]), level)
            run = one.run * SIZES[buffer.dtype] / level.line
            if one.lines > HOPS * max(1.0, run):
                if run >= 1:
                    found[buffer] = min(run, found.get(buffer, run))
                break
    return found


def _in_short_runs(offset: Index, buffer: Buffer, moving: frozenset[Var], level: MemoryLevel) -> bool:
    one = touched(offset, buffer, moving, level)
    run = one.run * SIZES[buffer.dtype] / level.line
    return run < SHORT_RUN and one.lines > STREAMS * max(1.0, run)


class Traffic:
    """Lines that come into a level, by part of the nest and buffer, during one execution in a loop of executions."""

    def __init__(self, root: LoopNode, level: MemoryLevel) -> None:
        self.root, self.level = root, level
        self._footprints: dict[int, tuple[Lines, float]] = {}

    def lines(self) -> Lines:
        """What a repeated execution fetches: nothing where all of it stays."""
        stays = self._fits(self.root)
        if stays >= 1.0:
            return {}
        return {key: (1.0 - stays) * lines for key, lines in self._misses(self.root).items()}

    def _misses(self, node: LoopNode) -> Lines:
        once, _ = self._footprint(node)
        fits = self._fits(node)
        if fits >= 1.0 or not node.children:
            return once
        reuse = self._body_fits(node) if node.loop is not None else 0.0
        times = self._times(node)
        again: Lines = {}
        if reuse < 1.0:
            for child in node.children:
                for key, lines in self._misses(child).items():
                    again[key] = again.get(key, 0.0) + times[key.buffer] * lines
        kept = fits + (1.0 - fits) * reuse
        return {
            key: kept * once.get(key, 0.0) + (1.0 - kept) * again.get(key, 0.0)
            for key in dict.fromkeys((*once, *again))
        }

    def _times(self, node: LoopNode) -> dict[Buffer, float]:
        """How often a loop comes back to a buffer. What a written-out loop does not move along is loaded once, into
        registers, and lanes that lie side by side are loaded together."""
        loop = node.loop
        if loop is None:
            return {access.buffer: 1.0 for access in node.accesses}
        found: dict[Buffer, float] = {}
        for access in node.accesses:
            times = float(loop.extent)
            if loop.mode in ("unroll", "vector") and loop.var not in access.offset.vars:
                times = 1.0
            elif loop.mode == "vector" and access.offset.coefficient(loop.var) == 1:
                times = max(1.0, loop.extent * SIZES[access.buffer.dtype] / self.level.line)
            found[access.buffer] = max(found.get(access.buffer, 0.0), times)
        return found

    def _body_fits(self, node: LoopNode) -> float:
        return self._fits(node.children[0] if len(node.children) == 1 else node.body)

    def _fits(self, node: LoopNode) -> float:
        """1 where everything that the node touches stays in the level, 0 where nothing is left for a second time."""
        share = self._footprint(node)[1]
        return min(1.0, max(0.0, (self.level.full - share) / (self.level.full - self.level.tight)))

    def _footprint(self, node: LoopNode) -> tuple[Lines, float]:
        """Lines by part and buffer, and the share of the level that they take: of all of it, or of the sets that one
        buffer can reach, whichever is more."""
        known = self._footprints.get(id(node))
        if known is None:
            known = self._footprints[id(node)] = self._measure(node)
        return known

    def _measure(self, node: LoopNode) -> tuple[Lines, float]:
        by_buffer: dict[Buffer, list[tuple[_Touched, list[MemoryAccess]]]] = {}
        for group, strides in node.reached:
            buffer = group[0].buffer
            one = _touched_in(strides, buffer, self.level)
            by_buffer.setdefault(buffer, []).append((one, group))
        found: Lines = {}
        sizes = [self._union(buffer, several, node.vars, found) for buffer, several in by_buffer.items()]
        total = sum(lines for lines, _ in sizes)
        # a line finds in its set those of its own buffer that fall there, and of the others what falls on any set
        crowded = max((crowd + (total - lines) / self.level.lines for lines, crowd in sizes), default=0.0)
        return found, max(total / self.level.lines, crowded)

    def _union(
        self, buffer: Buffer, several: list[tuple[_Touched, list[MemoryAccess]]], moving: frozenset[Var], found: Lines
    ) -> tuple[float, float]:
        """Lines of a buffer that any of its accesses reach: what lies in the same place counts once."""
        several.sort(key=lambda item: -item[0].lines)
        whole = buffer.bytes / self.level.line + 1
        lines = crowded = 0.0
        line = max(1, self.level.line // SIZES[buffer.dtype])
        for i, (one, group) in enumerate(several):
            shared = min(1.0, sum(_shared(group, before, moving, line) for _, before in several[:i]))
            apart = len(list(_apart(group, one.span))) * (1.0 - shared)
            new = min(one.lines * apart, max(0.0, whole - lines))
            lines += new
            crowded += one.crowded * apart
            shares = dict.fromkeys((access.part, access.writes, access.small) for access in group)
            for part, writes, small in shares:
                key = Key(part, buffer, writes, 2 * one.run * SIZES[buffer.dtype] <= self.level.line, small)
                found[key] = found.get(key, 0.0) + new / len(shares)
        return lines, crowded


def _shared(group: Sequence[MemoryAccess], before: Sequence[MemoryAccess], moving: frozenset[Var], line: int) -> float:
    """The share of what accesses with the same terms reach that others before them brought, whole lines of it.

    Parts of a nest may alternate, a few rows of each: a variable that both step by, further than either reaches
    otherwise, takes them along together, and what is between its steps is compared."""
    theirs = frozenset(before[0].offset.terms)
    together = [term for term in group[0].offset.terms if term in theirs and _values(term[0], moving) > 1]
    first, last = _range(group, moving, together)
    low, high = _range(before, moving, together)
    for atom, factor in sorted(together, key=lambda term: abs(term[1])):
        if abs(factor) <= max(last, high) - min(first, low):
            reach = factor * (_values(atom, moving) - 1)
            first, last = first + min(reach, 0), last + max(reach, 0)
            low, high = low + min(reach, 0), high + max(reach, 0)
    return max(0, min(high + line - 1, last) - max(low - line + 1, first) + 1) / max(1, last - first + 1)


def _range(group: Sequence[MemoryAccess], moving: frozenset[Var], without: Sequence[object]) -> tuple[int, int]:
    """The first and the last element that accesses with the same terms reach, some of their terms left out."""
    low = high = 0
    for atom, factor in group[0].offset.terms:
        if (atom, factor) not in without:
            reach = factor * (_values(atom, moving) - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
    constants = [access.offset.const for access in group]
    return low + min(constants), high + max(constants)


def _apart(group: Sequence[MemoryAccess], span: int) -> Iterator[int]:
    """Constants of accesses that share no elements: further from each other than what each of them spans."""
    last: int | None = None
    for const in sorted({access.offset.const for access in group}):
        if last is None or const - last >= span:
            yield const
            last = const
