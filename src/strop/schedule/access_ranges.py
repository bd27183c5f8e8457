"""How a loop of a call walks over the rows of the buffers that the call reads and writes."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import gcd, lcm

import numpy as np
import numpy.typing as npt

from strop.core.memoize import remembered
from strop.core.values import cached_property
from strop.loops.calls import Call
from strop.loops.index import Atom, Index, Quotient, Remainder, Var, index_of
from strop.loops.ir import CONSTANT, Buffer, Loop, Nest, Store, loads
from strop.loops.volume import flop

Steps = npt.NDArray[np.int64]  # a number for each step of a loop
MOST_STEPS = 20_000  # of a loop that is looked at step by step


@dataclass(frozen=True)
class AccessRange:
    """The rows of a buffer, along one of its dimensions, that each step of a loop touches. Neither end of
    the range ever decreases."""

    dimension: int
    low: tuple[int, ...]
    end: tuple[int, ...]


@dataclass(frozen=True)
class LoopPiece:
    """One of the loops that a walk consists of, from the walk's step `first` on, and what is done in it."""

    var: Var
    first: int
    stores: tuple[Store, ...]


@dataclass(frozen=True)
class RangedLoop:
    """A call and the loop of it that walks over rows: a loop of that name after the other where it was split unevenly,
    and the same steps again where something else was."""

    call: Call
    name: str
    pieces: tuple[LoopPiece, ...]

    @property
    def steps(self) -> int:
        return max(piece.first + piece.var.extent for piece in self.pieces)

    @cached_property
    def nest(self) -> Nest:
        """The call's nest on one thread, with the bounds of the loop left to the caller."""
        return _ranged(self.call.nest, self.name, iter(self.pieces))

    @cached_property
    def work(self) -> int:
        """Operations of the whole walk."""
        return flop(self.call.nest)

    @cached_property
    def bytes(self) -> int:
        """Bytes of everything that the whole walk touches."""
        return sum(b.bytes for b in self.call.touched)

    @cached_property
    def again(self) -> int:
        """Bytes of parameters that every strip reads again: those whose address does not depend on the loop. 0
        where the loop is outermost, since it reads them again at every step anyway."""
        outermost = next((loop.name for loop in self.call.nest.all_loops if loop.extent > 1), None) == self.name
        still = (b for b, reach in self.reads.items() if reach is None and b.space in CONSTANT)
        return 0 if outermost else sum(b.bytes for b in still)

    @cached_property
    def reads(self) -> dict[Buffer, AccessRange | None]:
        return self._reaches([(p, a.buffer, a.index) for p in self.pieces for store in p.stores for a in loads(store)])

    @cached_property
    def writes(self) -> dict[Buffer, AccessRange | None]:
        return self._reaches([(p, store.target, store.index) for p in self.pieces for store in p.stores])

    @cached_property
    def rounds(self) -> dict[Buffer, int]:
        """For each buffer the number of rows of which a ring may have any multiple, so that where a row lies is found
        once a step, outside of all other loops; 0 where no ring may hold it."""
        moving = frozenset(loop.var for loop in self.nest.all_loops if loop.mode not in ("strip", "unroll"))
        found: dict[Buffer, int] = {}
        for buffer, reach in (*self.reads.items(), *self.writes.items()):
            rows = {index[reach.dimension] for index in self._indices(buffer)} if reach is not None else {None}
            found[buffer] = lcm(*(self._round(row, moving) if row is not None else 0 for row in rows))
        return found

    def _round(self, row: Index, moving: frozenset[Var]) -> int:
        """The same for one index of rows: unrolled loops tell one from another, or it is the row of a pixel in a tile
        of consecutive ones, which must not cross from the ring's end to its start."""
        if all(isinstance(atom, Var) and atom not in moving for atom, _ in row.terms):
            return 1
        if len(row.terms) > 1 or not isinstance(pixel := row.terms[0][0], Quotient):
            return 0
        walking = {piece.var for piece in self.pieces}
        steps = [(atom, factor) for atom, factor in pixel.of.terms if atom in walking]
        if len(steps) != 1:
            return 0
        (step, size), *_ = steps
        low, high = (pixel.of - Index(((step, size),))).bounds
        return size // gcd(size, pixel.by) if 0 <= low <= high < size else 0

    def _indices(self, buffer: Buffer) -> set[tuple[Index, ...]]:
        places = [(a.buffer, a.index) for p in self.pieces for store in p.stores for a in loads(store)]
        places += [(store.target, store.index) for p in self.pieces for store in p.stores]
        return {index for short, index in places if self.call.actual.get(short) == buffer}

    def evenly(self, buffer: Buffer) -> bool:
        """Whether every row is written, and in the same places as any other: what is left out stays as it was."""
        reach = self.writes[buffer]
        if reach is None or any(a < b for a, b in zip(reach.end, reach.low[1:])):
            return False
        return all(
            not store.guards and _same_places(store.index, reach.dimension, piece.var)
            for piece in self.pieces
            for store in piece.stores
            if self.call.actual.get(store.target) == buffer
        )

    def _reaches(self, accesses: list[tuple[LoopPiece, Buffer, tuple[Index, ...]]]) -> dict[Buffer, AccessRange | None]:
        found: dict[Buffer, dict[tuple[LoopPiece, tuple[Index, ...]], None]] = {}
        for piece, buffer, index in accesses:
            if buffer in self.call.actual:
                found.setdefault(self.call.actual[buffer], {})[piece, index] = None
        return {buffer: self._reach(buffer, list(indices)) for buffer, indices in found.items()}

    def _reach(self, buffer: Buffer, indices: list[tuple[LoopPiece, tuple[Index, ...]]]) -> AccessRange | None:
        """Along the outermost dimension that the loop moves along; None where there is none, or it turns back."""
        moving = (d for d in range(len(buffer.shape)) if any(piece.var in index[d].vars for piece, index in indices))
        dimension = next(moving, None)
        if dimension is None:
            return None
        low, end = [buffer.shape[dimension]] * self.steps, [0] * self.steps
        for piece, index in dict.fromkeys((piece, index[dimension]) for piece, index in indices):
            for step, (a, b) in enumerate(_bounds(index, piece.var), piece.first):
                low[step], end[step] = min(low[step], max(a, 0)), max(end[step], min(b + 1, buffer.shape[dimension]))
        back = any(a > b for ends in (low, end) for a, b in pairwise(ends))
        return None if back else AccessRange(dimension, tuple(low), tuple(end))


def _same_places(index: tuple[Index, ...], dimension: int, var: Var) -> bool:
    """Whether a loop moves along one dimension only; or along rows and then, inside each, from its start to its end."""
    along = [a for d, part in enumerate(index) if d != dimension for a, _ in part.terms if var in index_of(a).vars]
    rows = [atom for atom, _ in index[dimension].terms if isinstance(atom, Quotient) and var in atom.of.vars]
    return not along or rows == [Quotient(atom.of, atom.by) for atom in along if isinstance(atom, Remainder)]


def _bounds(index: Index, var: Var) -> list[tuple[int, int]]:
    """The smallest and the largest value of an index at each step of a loop."""
    factor = index.coefficient(var)
    if factor is None:
        lows, highs = _bounds_by_step(index, var)
        return list(zip(lows.tolist(), highs.tolist()))
    low, high = index.substitute({var: Index()}).bounds
    return [(low + factor * i, high + factor * i) for i in range(var.extent)]


def _bounds_by_step(index: Index, var: Var) -> tuple[Steps, Steps]:
    """The same for indices that go by quotients and remainders of the loop, all steps at once."""
    low = np.full(var.extent, index.const)
    high = low.copy()
    for atom, factor in index.terms:
        least, most = _bounds_of_atom(atom, var)
        low += factor * (least if factor > 0 else most)
        high += factor * (most if factor > 0 else least)
    return low, high


def _bounds_of_atom(atom: Atom, var: Var) -> tuple[Steps, Steps]:
    if atom == var:
        steps = np.arange(var.extent)
        return steps, steps
    if not isinstance(atom, Quotient | Remainder) or var not in atom.of.vars:
        least, most = atom.bounds
        return np.full(var.extent, least), np.full(var.extent, most)
    if isinstance(atom, Quotient):
        low, high = _bounds_by_step(atom.of, var)
        return low // atom.by, high // atom.by
    by = atom.by
    whole = tuple((inner, factor) for inner, factor in atom.of.terms if factor % by)
    low, high = _bounds_by_step(Index(whole, atom.of.const % by), var)
    same = low // by == high // by
    return np.where(same, low % by, 0), np.where(same, high % by, by - 1)


def _ranged(nest: Nest, name: str, pieces: Iterator[LoopPiece]) -> Nest:
    loops = []
    for loop in nest.loops:
        if loop.name == name:
            loops.append(replace(loop, mode="strip", first=next(pieces).first))
        else:
            loops.append(replace(loop, mode="serial") if loop.mode == "threads" else loop)
    body = tuple(item if isinstance(item, Store) else _ranged(item, name, pieces) for item in nest.body)
    return replace(nest, loops=tuple(loops), body=body)


def ranged_loops(call: Call) -> tuple[RangedLoop, ...]:
    """Over every loop of a call that may run a part at a time: parallel, and around all that it does."""
    return _ranged_loops(call, nodes(call))


def nodes(call: Call) -> tuple[tuple[str, ...], ...]:
    """What the statements of a call compute of the graph: calls that differ in that alone count as equal."""
    return tuple(store.nodes for store in call.source.stores)


@remembered(maxsize=4096)
def _ranged_loops(call: Call, nodes: tuple[tuple[str, ...], ...]) -> tuple[RangedLoop, ...]:
    nest = call.nest
    if any(loop.kind == "sequential" for loop in nest.all_loops) or set(nest.reads) & set(nest.writes):
        return ()
    if any(store.reduce for store in nest.stores if store.target in nest.writes):
        return ()
    made = []
    for name in dict.fromkeys(loop.name for loop in nest.all_loops if loop.kind == "parallel" and loop.extent > 1):
        found = list(_loops(nest, name))
        whole = sum(len(owner.stores) for owner, _ in found) == len(nest.stores)
        if whole and all(loop.kind == "parallel" and loop.mode in ("serial", "threads") for _, loop in found):
            pieces = _pieces(found, nest.writes)
            if sum(piece.var.extent for piece in pieces) <= MOST_STEPS:
                made.append(RangedLoop(call, name, pieces))
    return tuple(made)


def _loops(nest: Nest, name: str) -> Iterator[tuple[Nest, Loop]]:
    """Loops of a name that are not inside one another, and the nests that they are loops of."""
    for loop in nest.loops:
        if loop.name == name:
            yield nest, loop
            return
    for item in nest.body:
        if isinstance(item, Nest):
            yield from _loops(item, name)


def _pieces(found: list[tuple[Nest, Loop]], written: Container[Buffer]) -> tuple[LoopPiece, ...]:
    """Each loop after those before it, unless one of them walks over the same rows."""
    made: list[LoopPiece] = []
    firsts: dict[tuple[Var, frozenset[int | None]], int] = {}
    total = 0
    for owner, loop in found:
        key = (loop.var, frozenset(_first_row(s.index, loop.var) for s in owner.stores if s.target in written))
        if key not in firsts:
            firsts[key] = total
            total += loop.extent
        made.append(LoopPiece(loop.var, firsts[key], owner.stores))
    return tuple(made)


def _first_row(index: tuple[Index, ...], var: Var) -> int | None:
    """Where a loop starts along the outermost dimension that it moves along."""
    moving = (part for part in index if var in part.vars)
    return next((part.substitute({var: Index()}).bounds[0] for part in moving), None)
