"""Which scratch lives in registers: that whose every index is a number once loops are written out."""

from __future__ import annotations

import math
from collections.abc import Mapping

from strop.loops.index import Index, Var
from strop.loops.ir import Buffer, Loop, Nest, Store, loads

LONGEST_VECTOR = 16  # elements of any target's vectors


def register_scratch(nest: Nest) -> frozenset[Buffer]:
    """The scratch of a scheduled nest that lives in registers; other scratch is memory."""
    return frozenset(s for s in nest.all_scratch if _Uses(s).fit(nest))


class _Uses:
    """How a nest uses a scratch buffer."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self.vectors: set[bool] = set()  # whether uses are of vectors
        self.blocks: list[set[tuple[int, int]]] = []

    def fit(self, nest: Nest) -> bool:
        """Whether every index is a number once loops are expanded, and vectors of the buffer meet vectors."""
        return self._visit(nest, {}) and len(self.vectors) <= 1 and all(map(_same_vectors, self.blocks))

    def _visit(self, item: Store | Nest, loops: Mapping[Var, Loop]) -> bool:
        if isinstance(item, Nest):
            if self.buffer in item.scratch or not self.blocks:
                self.blocks.append(set())
            inner = {**loops, **{loop.var: loop for loop in item.loops}}
            return all(self._visit(i, inner) for i in item.body)
        uses = [load.index for load in loads(item) if load.buffer == self.buffer]
        if item.target == self.buffer:
            uses.append(item.index)
        return all(self._known(index, loops) for index in uses)

    def _known(self, index: tuple[Index, ...], loops: Mapping[Var, Loop]) -> bool:
        found = frozenset().union(*(part.vars for part in index)) if index else frozenset()
        if any(v not in loops or mode(loops[v]) not in ("unroll", "vector") for v in found):
            return False
        lanes = [v for v in found if mode(loops[v]) == "vector"]
        self.vectors.add(bool(lanes))
        for v in lanes:
            self.blocks[-1].update((loops[v].extent, _offset(part, v)) for part in index if part.coefficient(v))
        return all(part.coefficient(v) in (0, 1) for part in index for v in lanes)


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
