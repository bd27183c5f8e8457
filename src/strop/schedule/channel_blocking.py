"""Blocks of channels side by side: register tiles of several vectors where each lies in a block of its own.

Where a result lies in blocks of one vector of channels, a tile has one vector per row. Every broadcast element then
serves a single multiply-add, and a core with as many load ports as multipliers is bound by loads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from strop.loops.analysis import Contraction, stride_within
from strop.loops.ir import Loop
from strop.schedule.builder import balance
from strop.schedule.tiles import Demand, Tile, candidates, cycles
from strop.target.description import Target

WORTH = 0.97  # of the time that one block after the other takes


@dataclass(frozen=True)
class ChannelBlocks:
    """A loop, so many steps of which are taken together, and the tile: of all blocks, or of each row."""

    loop: Loop
    steps: int
    tile: Tile


def choose_channel_blocks(
    found: Contraction,
    along: Loop,
    rows: Loop | None,
    tile: Tile,
    demand: Demand,
    lanes: int,
    target: Target,
    threads: int,
) -> ChannelBlocks | None:
    """The best tile over several blocks, where it is worth more than one over a single block, for all threads."""
    if rows is None or along.extent != lanes or demand.paired or demand.accumulators > 1:
        return None
    loop = next(
        (one for one in found.nest.loops if one not in (along, rows) and _shares(found, along, one, lanes)), None
    )
    if loop is None:
        return None
    wide = replace(demand, lanes_extent=loop.extent * lanes, vector_divides=0)
    others = [one.extent for one in found.nest.loops if one not in (along, rows, loop)]

    def shared(one: Tile) -> float:
        """How evenly threads share what is outside of the tile."""
        steps = [*others, loop.extent // one.vectors]
        if rows.extent % one.rows == 0:
            steps.append(rows.extent // one.rows)
        return max(balance(count, threads) for count in steps)

    def time(one: Tile) -> float:
        return cycles(one, wide, lanes, target) / shared(one)

    tiles = [one for one in candidates(wide, lanes, target) if loop.extent % one.vectors == 0]
    best = min(tiles, key=lambda one: (time(one), one.vectors), default=tile)
    alone = cycles(tile, demand, lanes, target) * loop.extent / shared(tile)
    return ChannelBlocks(loop, best.vectors, best) if best.vectors > 1 and time(best) < WORTH * alone else None


def _shares(found: Contraction, along: Loop, loop: Loop, lanes: int) -> bool:
    """Whether steps of a loop read other vectors and the same rows."""
    return loop.extent > 1 and all(
        load.offset.coefficient(loop.var) is not None
        and (load.offset.coefficient(loop.var) != 0) == (stride_within(load.offset, along.var, lanes) != 0)
        for load in found.operands
    )
