"""Register tiles: how many rows and vectors of accumulators a contraction keeps in registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from strop.loops.passes.primitives import pieces
from strop.target.description import Target, narrowest

MOST_LOOPED_ROWS = 8
MOST_IN_LINE = 4  # vectors of a line of an image that are computed at once, so that it is walked in few pieces
BESIDE_ROWS = 2  # ways of L1 that weights and sums take beside the rows of a tile
STREAMED = 0.75  # share of L2's peak bandwidth that is reached while tiles are multiplied


@dataclass(frozen=True)
class Tile:
    rows: int
    vectors: int

    def __str__(self) -> str:
        return f"{self.rows}×{self.vectors}"


@dataclass(frozen=True)
class Demand:
    """What a step of a reduction needs: operands that differ by row (broadcast), vector (streamed) or both (paired)."""

    rows: int
    lanes_extent: int
    depth: int
    accumulators: int = 1
    broadcast: int = 1
    streamed: int = 1
    paired: int = 0
    rows_alias: bool = False  # rows fall on the same sets of L1: more of them than it has ways evict each other
    vector_divides: int = 0  # a tile's vectors must divide this extent (0: any)
    window: int = 0  # steps of a written-out reduction that slide along the rows, so that rows share paired reads
    slide: int = 1  # how far a row moves the window
    looped: bool = False  # only the sliding loop is written out, others stay loops: fewer reads are kept
    lines: bool = False  # vectors lie along the lines of an image, in one of whose channels the window moves
    shuffled: int = 0  # paired reads that several steps of the reduction take from one vector, which stays

    def shared(self, rows: int) -> int:
        """Different paired reads of a window's steps over some rows."""
        return min((rows - 1) * self.slide + self.window, rows * self.window)


def candidates(demand: Demand, lanes: int, target: Target) -> Iterator[Tile]:
    """Tiles whose accumulators and operands fit the registers."""
    for vectors in range(1, 9):
        if vectors > 1 and (vectors - 1) * lanes >= demand.lanes_extent:
            break
        if (
            demand.vector_divides
            and demand.vector_divides % (vectors * lanes)
            and vectors * lanes < demand.vector_divides
        ):
            continue
        if demand.lines and vectors < min(MOST_IN_LINE, -(-demand.lanes_extent // lanes)):
            continue
        for rows in range(1, min(demand.rows, 14) + 1):
            if demand.lines:  # what is read is used for all rows at once (`codegen.unroll_order`)
                held = vectors + demand.window - 2
            elif not demand.paired:
                held = min(rows * demand.broadcast, vectors * demand.streamed)
            elif demand.looped:
                held = vectors * demand.window * demand.streamed
                if rows > MOST_LOOPED_ROWS:
                    break
            elif demand.window:  # whatever is read twice stays: the machine code reads it once
                held = vectors * (demand.window * demand.streamed + demand.shared(rows))
            else:
                held = vectors * demand.streamed
            held += demand.shuffled * rows * vectors
            streaming = 1 + min(demand.paired, 2)
            if demand.accumulators * rows * vectors + held + streaming <= target.vector_registers:
                yield Tile(rows, vectors)


def cycles(tile: Tile, demand: Demand, lanes: int, target: Target) -> float:
    """Cycles for the whole contraction, by the busiest of: multiply-add units, loads, latency, what comes from L2 or,
    where a panel does not fit there, from L3."""
    load_rate = target.bandwidth[0] / target.vector_bytes
    panel = demand.streamed * demand.depth * tile.vectors * target.vector_bytes
    below = target.bandwidth[2 if panel > target.l2 else 1] if panel > target.l1 and not demand.paired else 0.0
    arrives = STREAMED * below / target.vector_bytes
    total = 0.0
    for count, rows in pieces(demand.rows, tile.rows):
        for start in range(0, demand.lanes_extent, tile.vectors * lanes):
            vectors = _vectors(min(tile.vectors * lanes, demand.lanes_extent - start), lanes, target)
            arithmetic = demand.accumulators * rows * vectors / target.fma_per_cycle
            paired = demand.shared(rows) / demand.window if demand.window else rows
            loads = (
                demand.streamed * vectors / load_rate
                + demand.broadcast * rows / 2
                + demand.paired * paired * vectors / load_rate
            )
            arriving = demand.streamed * vectors / arrives if arrives else 0.0
            step = max(arithmetic, loads, arriving, target.fma_latency)
            if demand.rows_alias and rows > target.l1_ways - BESIDE_ROWS:
                step *= 1.5
            ends = 12 + 2 * rows * vectors  # starting and finishing a tile
            total += count * (step * demand.depth + ends)
    return total


def _vectors(extent: int, lanes: int, target: Target) -> float:
    """Whole vectors' worth of time for some lanes: idle ones cost as much as busy ones.

    The last vector is as narrow as it can be, which pays where pipes are narrower than registers.
    """
    whole, rest = divmod(extent, lanes)
    return whole + (max(narrowest(rest, lanes) / lanes, target.fma_per_cycle / target.fma_pipes) if rest else 0)


def best(demand: Demand, lanes: int, target: Target, shared: Callable[[Tile], float] = lambda tile: 1.0) -> Tile:
    """The tile that takes the least time, where `shared` is the part of the threads' time that it uses; of equals the
    one that uses more of it, then the one with more rows per weight that is read."""

    def order(tile: Tile) -> tuple[float, float, int, int]:
        used = shared(tile)
        return cycles(tile, demand, lanes, target) / used, -used, -tile.rows * tile.vectors, tile.vectors

    return min(list(candidates(demand, lanes, target)) or [Tile(1, 1)], key=order)
