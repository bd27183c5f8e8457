"""Which scratch lives in registers: that whose every index is a number once loops are written out."""

from __future__ import annotations

import math
from collections.abc import Mapping

from strop.loops.index import Index, Var
from strop.loops.ir import Buffer, Loop, Nest, loads

LONGEST_VECTOR = 16  # elements of any target's vectors


def register_scratch(nest: Nest) -> frozenset[Buffer]:
    """The scratch of a scheduled nest that lives in registers; other scratch is memory."""
    uses = {buffer: _Uses() for buffer in nest.all_scratch}
    if uses:
        _visit(nest, {}, uses)
    return frozenset(buffer for buffer, one in uses.items() if one.fit)


class _Uses:
    """How a nest uses a scratch buffer."""

    def __init__(self) -> None:
        self.known = True  # every index is a number once loops are expanded
        self.vectors: set[bool] = set()  # whether uses are of vectors
        self.blocks: list[set[tuple[int, int]]] = [set()]

    @property
    def fit(self) -> bool:
        """Whether every index is a number once loops are expanded, and vectors of the buffer meet vectors."""
        return self.known and len(self.vectors) <= 1 and all(map(_same_vectors, self.blocks))

    def add(self, index: tuple[Index, ...], modes: Mapping[Var, str]) -> None:
        found = frozenset().union(*(part.vars for part in index)) if index else frozenset()
        lanes = [v for v in found if modes.get(v) == "vector"]
        if any(modes.get(v) not in ("unroll", "vector") for v in found):
            self.known = False
            return
        self.vectors.add(bool(lanes))
        for v in lanes:
            self.blocks[-1].update((v.extent, _offset(part, v)) for part in index if part.coefficient(v))
            self.known = self.known and all(part.coefficient(v) in (0, 1) for part in index)


def _visit(nest: Nest, modes: Mapping[Var, str], uses: Mapping[Buffer, _Uses]) -> None:
    """Tell every use of scratch, below loops that run in these modes."""
    inner = {**modes, **{loop.var: mode(loop) for loop in nest.loops}}
    for buffer in nest.scratch:
        uses[buffer].blocks.append(set())
    for item in nest.body:
        if isinstance(item, Nest):
            _visit(item, inner, uses)
            continue
        for load in loads(item):
            if (one := uses.get(load.buffer)) is not None and one.known:
                one.add(load.index, inner)
        if (one := uses.get(item.target)) is not None and one.known:
            one.add(item.index, inner)


def mode(loop: Loop) -> str:
    """How a loop is emitted: one that runs once is written out."""
    return "unroll" if loop.extent == 1 and loop.mode != "strip" else loop.mode


def _offset(part: Index, lane: Var) -> int:
    """What every offset of a vector along `lane` is a multiple of."""
    return math.gcd(part.const, *(factor for atom, factor in part.terms if atom != lane))


def _same_vectors(uses: set[tuple[int, int]]) -> bool:
    """Whether accesses of these extents and offsets divide a buffer into the same vectors, of whatever length."""
    if all(extent % LONGEST_VECTOR == 0 and offset % LONGEST_VECTOR == 0 for extent, offset in uses):
        return True
    return len({extent for extent, _ in uses}) <= 1 and all(offset % extent == 0 for extent, offset in uses)
