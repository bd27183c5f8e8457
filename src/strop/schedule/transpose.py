"""Schedules of nests that transpose a tensor: the dimension that is contiguous in the result is strided in the input.

Squares of elements are read row by row, turned in registers and written column by column (`codegen/transpose.py`): a
vector loop along the result, an unrolled one along what is read. Squares follow each other along the result, so that
only as many cache lines as a square has rows are in use on each side.
"""

from __future__ import annotations

from strop.codegen.deinterleave import MOST_CHANNELS
from strop.core.dtypes import SIZES
from strop.loops.ir import Load, Loop, Nest, loads
from strop.loops.passes.loop_modes import Unroll, Vectorise
from strop.loops.passes.primitives import Reorder, Sink, Split
from strop.schedule.builder import ScheduleBuilder

MOST_STATEMENTS = 2


def schedule_transpose(recipe: ScheduleBuilder) -> bool:
    """Schedule a pointwise nest whose innermost loop is the result's, if it turns what it reads."""
    nest = recipe.nest
    inner = nest.loops[-1]
    across = _across(nest, inner)
    sizes = {SIZES[s.target.dtype] for s in nest.stores}
    if across is not None and sizes in ({1}, {4}) and 1 < inner.extent <= MOST_CHANNELS:
        _pixels(recipe, across, inner)
        return True
    if across is None or inner.extent < 2 or any(SIZES[s.target.dtype] != 4 for s in nest.stores):
        return False
    recipe.order(*(loop.name for loop in nest.loops if loop not in (across, inner)), across.name, inner.name)
    square = transpose_tiles(recipe, across.name, inner.name)
    if nest.scratch:
        recipe.do(Sink(recipe.name, square))
    return True


def _pixels(recipe: ScheduleBuilder, across: Loop, channels: Loop) -> None:
    """Channels that come to lie side by side: vectors along what is read, all channels of a pixel together."""
    nest, name, lanes = recipe.nest, recipe.name, recipe.target.lanes("f32")
    rest = [loop.name for loop in nest.loops if loop not in (across, channels)]
    row = across.name
    recipe.order(*rest, row, channels.name)
    if across.extent > lanes:
        recipe.do(Split(name, row, lanes, tail="rest"))
        recipe.do(Reorder(name, (f"{row}.o", channels.name, f"{row}.i")))
        row = f"{row}.i"
    else:
        recipe.do(Reorder(name, (channels.name, row)))
    recipe.do(Unroll(name, channels.name))
    recipe.do(Vectorise(name, row))
    if nest.scratch:
        recipe.do(Sink(name, (channels.name, row)))


def transpose_tiles(recipe: ScheduleBuilder, across: str, along: str) -> tuple[str, str]:
    """Squares of two neighbouring loops: `across` walks through what is read, `along` through what is written. The
    names of the loops of a square."""
    lanes, name = recipe.target.lanes("f32"), recipe.name
    row, column = across, along
    if _extent(recipe, across) > lanes:
        recipe.do(Split(name, across, lanes, tail="rest"))
        row = f"{across}.i"
        recipe.do(Reorder(name, (f"{across}.o", along, row)))
    else:
        recipe.do(Reorder(name, (along, row)))
    if _extent(recipe, along) > lanes:
        recipe.do(Split(name, along, lanes, tail="rest"))
        column = f"{along}.i"
        recipe.do(Reorder(name, (f"{along}.o", row, column)))
    else:
        recipe.do(Reorder(name, (row, column)))
    recipe.do(Unroll(name, row))
    recipe.do(Vectorise(name, column))
    return row, column


def _extent(recipe: ScheduleBuilder, name: str) -> int:
    return next(loop.extent for loop in recipe.nest.all_loops if loop.name == name)


def _across(nest: Nest, inner: Loop) -> Loop | None:
    """The loop along which reads that jump with the innermost loop are contiguous."""
    written = [s for s in nest.stores if s.target not in nest.scratch]
    if len(written) > MOST_STATEMENTS or any(s.offset.coefficient(inner.var) != 1 for s in written):
        return None
    jumping = [load for s in nest.stores for load in loads(s) if _jumps(load, inner)]
    walked = [
        loop
        for loop in nest.loops
        if loop is not inner and loop.extent > 3 and all(load.offset.coefficient(loop.var) == 1 for load in jumping)
    ]
    return walked[0] if jumping and walked else None


def _jumps(load: Load, inner: Loop) -> bool:
    return load.offset.coefficient(inner.var) not in (0, 1)
