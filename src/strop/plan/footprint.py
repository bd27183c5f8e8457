"""Bytes that a scheduled nest moves between the levels of memory, from the footprints of its loops.

What one execution of a loop touches is counted in lines (of a cache, or pages of a TLB). Where it fits a level, each
line comes once; where only the body fits, what an iteration leaves is there for the next; where not even that fits,
every iteration fetches anew. Between fitting and not there is a slope: replacement is not ideal, and neither are sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd

from strop.core.dtypes import SIZES
from strop.loops.index import Index, Indirect, Quotient, Remainder, Var
from strop.loops.ir import Buffer, Loop, Nest, Store, loads


@dataclass(frozen=True)
class Level:
    """A cache as its users see it: `lines` of `line` bytes in `sets` sets."""

    name: str
    lines: int
    line: int
    sets: int = 1


@dataclass(frozen=True)
class Access:
    """One read or write of a statement, and the part of the nest (a tile) that it belongs to."""

    part: int
    buffer: Buffer
    offset: Index
    writes: bool


@dataclass
class Node:
    """A loop around a sequence of nodes, or a statement with its accesses."""

    loop: Loop | None = None
    children: list[Node] = field(default_factory=list)
    own: tuple[Access, ...] = ()

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        return tuple(dict.fromkeys((*self.own, *(a for child in self.children for a in child.accesses))))

    @cached_property
    def vars(self) -> frozenset[Var]:
        inner = frozenset[Var]().union(*(child.vars for child in self.children))
        return inner | {self.loop.var} if self.loop is not None else inner


def tree(nest: Nest, parts: dict[Nest, int], local: frozenset[Buffer], part: int = 0) -> Node:
    """The nest as nodes; scratch in registers (`local`) is no access."""
    part = parts.get(nest, part)
    children = [
        _statement(item, part, local) if isinstance(item, Store) else tree(item, parts, local, part)
        for item in nest.body
    ]
    node = Node(None, children)
    for loop in reversed(nest.loops):
        node = Node(loop, node.children if node.loop is None else [node])
    return node


def _statement(store: Store, part: int, local: frozenset[Buffer]) -> Node:
    found = [Access(part, load.buffer, load.offset, False) for load in loads(store) if load.buffer not in local]
    if store.target not in local:
        found.append(Access(part, store.target, store.offset, True))
    return Node(own=tuple(found))


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
    span = sum((_values(inner, moving) - 1) * abs(factor) for inner, factor in atom.of.terms)
    if isinstance(atom, Quotient):
        return span // atom.by + 1
    return min(atom.by, span + 1)


@dataclass(frozen=True)
class _Touched:
    lines: float
    crowded: float  # lines as they count against the capacity: more where they share few sets
    span: int


def touched(offset: Index, buffer: Buffer, moving: frozenset[Var], level: Level) -> _Touched:
    """Lines that an access reaches while some variables move."""
    size = SIZES[buffer.dtype]
    line = max(1, level.line // size)
    run, count, span = 1, 1, 1
    far: list[tuple[int, int]] = []
    for stride, number in steps(offset, moving):
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
    if level.sets <= 1 or lines <= 1:
        return _Touched(lines, lines, span)
    covered = min(level.sets, int(per_run) or 1)
    for stride, number in far:
        period = level.sets // gcd(level.sets, max(1, stride // line))
        covered = min(level.sets, covered * min(number, period))
    reach = min(lines, level.sets)
    return _Touched(lines, lines * max(1.0, reach / covered), span)


class Traffic:
    """Lines that come into a level, by part of the nest and buffer, during one execution in a loop of executions."""

    def __init__(self, root: Node, level: Level) -> None:
        self.root, self.level = root, level
        self._footprints: dict[int, tuple[dict[tuple[int, Buffer, bool], float], float]] = {}

    def lines(self) -> dict[tuple[int, Buffer, bool], float]:
        """What a repeated execution fetches: nothing where all of it stays."""
        stays = self._fits(self.root)
        if stays >= 1.0:
            return {}
        return {key: (1.0 - stays) * lines for key, lines in self._misses(self.root).items()}

    def _misses(self, node: Node) -> dict[tuple[int, Buffer, bool], float]:
        once, _ = self._footprint(node)
        fits = self._fits(node)
        if fits >= 1.0 or not node.children:
            return once
        times, reuse = (node.loop.extent, self._body_fits(node)) if node.loop is not None else (1, 0.0)
        again: dict[tuple[int, Buffer, bool], float] = {}
        if reuse < 1.0:
            for child in node.children:
                for key, lines in self._misses(child).items():
                    again[key] = again.get(key, 0.0) + times * lines
        kept = fits + (1.0 - fits) * reuse
        return {
            key: kept * once.get(key, 0.0) + (1.0 - kept) * max(again.get(key, 0.0), once.get(key, 0.0))
            for key in dict.fromkeys((*once, *again))
        }

    def _body_fits(self, node: Node) -> float:
        if len(node.children) == 1:
            return self._fits(node.children[0])
        body = Node(None, node.children)
        return self._fits(body)

    def _fits(self, node: Node) -> float:
        """1 where everything that the node touches stays in the level, 0 where nothing is left for a second time."""
        share = self._footprint(node)[1] / self.level.lines
        return min(1.0, max(0.0, (1.15 - share) / 0.4))

    def _footprint(self, node: Node) -> tuple[dict[tuple[int, Buffer, bool], float], float]:
        """Lines by part and buffer, and the whole as it counts against the capacity."""
        known = self._footprints.get(id(node))
        if known is None:
            known = self._footprints[id(node)] = self._measure(node)
        return known

    def _measure(self, node: Node) -> tuple[dict[tuple[int, Buffer, bool], float], float]:
        groups: dict[tuple[Buffer, tuple[object, ...]], list[Access]] = {}
        for access in node.accesses:
            groups.setdefault((access.buffer, access.offset.terms), []).append(access)
        found: dict[tuple[int, Buffer, bool], float] = {}
        crowded: dict[Buffer, float] = {}
        plain: dict[Buffer, float] = {}
        for (buffer, _), group in groups.items():
            one = touched(group[0].offset, buffer, node.vars, self.level)
            apart = len(list(_apart(group, one.span)))
            crowded[buffer] = crowded.get(buffer, 0.0) + one.crowded * apart
            plain[buffer] = plain.get(buffer, 0.0) + one.lines * apart
            shares = dict.fromkeys((a.part, a.writes) for a in group)
            for part, writes in shares:
                key = (part, buffer, writes)
                found[key] = found.get(key, 0.0) + one.lines * apart / len(shares)
        total = 0.0
        for buffer, lines in plain.items():
            whole = buffer.bytes / self.level.line + 1
            over = max(1.0, lines / whole)
            total += crowded[buffer] / over
            if over > 1.0:
                found = {key: n / over if key[1] == buffer else n for key, n in found.items()}
        return found, total


def _apart(group: Sequence[Access], span: int) -> Iterator[int]:
    """Constants of accesses that share no elements: further from each other than what each of them spans."""
    last: int | None = None
    for const in sorted({access.offset.const for access in group}):
        if last is None or const - last >= span:
            yield const
            last = const
