"""Blocks of channels side by side: register tiles of several vectors where each lies in a block of its own.

A result in blocks of as many channels as a vector has lanes gives a tile one vector per row: every element that is
broadcast then serves a single product, and a core that multiplies as fast as it loads waits for loads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from strop.core.target import Target
from strop.loops.ir import Loop
from strop.plan.analyse import Contraction, stride_within
from strop.plan.tiles import Demand, Tile, candidates, cycles

WORTH = 0.97  # of the time that one block after the other takes


@dataclass(frozen=True)
class Abreast:
    """A loop, so many steps of which are taken together, and the tile: of all blocks, or of each row."""

    loop: Loop
    steps: int
    tile: Tile


def blocks_abreast(
    found: Contraction, along: Loop, rows: Loop | None, tile: Tile, demand: Demand, lanes: int, target: Target
) -> Abreast | None:
    """The best tile over several blocks, where it is worth more than one over a single block."""
    if rows is None or along.extent != lanes or demand.paired or demand.accumulators > 1:
        return None
    loop = next(
        (one for one in found.nest.loops if one not in (along, rows) and _shares(found, along, one, lanes)), None
    )
    if loop is None:
        return None
    wide = replace(demand, lanes_extent=loop.extent * lanes, vector_divides=0)
    tiles = [one for one in candidates(wide, lanes, target) if loop.extent % one.vectors == 0]
    best = min(tiles, key=lambda one: (cycles(one, wide, lanes, target), one.vectors), default=tile)
    alone = cycles(tile, demand, lanes, target) * loop.extent
    worth = best.vectors > 1 and cycles(best, wide, lanes, target) < WORTH * alone
    return Abreast(loop, best.vectors, best) if worth else None


def _shares(found: Contraction, along: Loop, loop: Loop, lanes: int) -> bool:
    """Whether steps of a loop read other vectors and the same rows."""
    return loop.extent > 1 and all(
        load.offset.coefficient(loop.var) is not None
        and (load.offset.coefficient(loop.var) != 0) == (stride_within(load.offset, along.var, lanes) != 0)
        for load in found.operands
    )
