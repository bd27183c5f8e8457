"""Operands of contractions in the order in which a register tile reads them.

Parameters are packed once, what changes from call to call at every call, where that pays.
"""

from __future__ import annotations

from math import gcd, prod

from strop.core.dtypes import SIZES
from strop.loops.analysis import Contraction, contraction
from strop.loops.ir import CONSTANT, Load, Loop, index_loads
from strop.loops.passes.packing import LINE_BYTES, Pack
from strop.loops.passes.targeted import MOST_VECTORS
from strop.schedule.builder import ScheduleBuilder

FEWEST_SHARING = 16  # rows that share an operand, from which packing it at every call pays
FEWEST_SCATTERED = 24  # the same where it could be read as it lies, but no cache keeps it from one tile to the next
FEWEST_ALIASED, SHORTEST_ALIASED = 128, 128  # where only L1 doesn't: such rows, and steps of the sum
FOLLOWED = 2048  # bytes: the hardware prefetcher follows no longer steps


def packable(recipe: ScheduleBuilder, load: Load) -> bool:
    """Whether the parameter program may copy an operand into the order in which the tile reads it."""
    return load.buffer.space in CONSTANT and _can_be_packed(recipe, load)


def _can_be_packed(recipe: ScheduleBuilder, load: Load) -> bool:
    plain = not any(True for part in load.index for _ in index_loads(part))
    return recipe.pack and plain and load.buffer.dtype in ("f32", "f64", "i32")


def worth_packing(recipe: ScheduleBuilder, found: Contraction, load: Load, along: Loop) -> bool:
    """Whether an operand is packed: once, or at every call, where it could not be read by vectors otherwise and enough
    rows share the copy."""
    if load.buffer.space in CONSTANT:
        return packable(recipe, load)
    if along.extent < recipe.target.lanes("f32") or sharing(found, along) < FEWEST_SHARING:
        return False
    moving = load.offset.coefficient(along.var)
    if moving == 1 and not _scattered(recipe, found, load, along):
        return False
    return moving != 0 and _copied_once(recipe, found, load)


def _scattered(recipe: ScheduleBuilder, found: Contraction, load: Load, along: Loop) -> bool:
    """Whether the steps of the sum read vectors that lie so far apart that a copy pays although it is not needed.

    The prefetcher does not follow them, so that what comes from beyond L2 is waited for; and where they fall on few
    sets of a cache they evict each other before the next tile reads them. A product of 256 rows with 768×3072 weights
    runs at 72 GFLOP/s out of rows 12 KB apart, and at 162 out of a packed copy (Emerald Rapids).
    """
    inner = [loop for loop in found.inner.loops if loop.extent > 1]
    step = (load.offset.coefficient(inner[0].var) or 0) * SIZES[load.buffer.dtype] if len(inner) == 1 else 0
    if step < FOLLOWED:
        return False
    rows, target = sharing(found, along), recipe.target
    kept = target.l2 // gcd(step, target.l2 // target.l2_ways)  # steps whose lines L2 holds at a time
    far = step > FOLLOWED and load.buffer.bytes > 2 * target.l2
    if rows >= FEWEST_SCATTERED and (far or 2 * found.depth > kept):
        return True
    near = step > FOLLOWED and (step % (target.l1_way // 2) == 0 or load.buffer.bytes > target.l2)
    return near and rows >= FEWEST_ALIASED and found.depth >= SHORTEST_ALIASED


def _copied_once(recipe: ScheduleBuilder, found: Contraction, load: Load) -> bool:
    """Whether a packed copy of what changes from call to call can be made and is hardly larger than the operand. Beside
    a parameter, which can be packed once, nothing is packed at every call."""
    beside = any(one.buffer.space in CONSTANT for one in found.operands)
    if recipe.focus or beside or load.guards or not _can_be_packed(recipe, load):
        return False
    return 4 * prod(loop.extent for loop in _moving(found, load)) <= 5 * load.buffer.size


def _moving(found: Contraction, load: Load) -> list[Loop]:
    """The loops that an operand depends on."""
    return [loop for loop in (*found.nest.loops, *found.inner.loops) if loop.var in load.vars and loop.extent > 1]


def transpose_rows(recipe: ScheduleBuilder, found: Contraction, along: Loop, rows: Loop, lanes: int) -> bool:
    """Pack the operand of the rows where the reduction steps through it by whole lines (the gradient of a weight), and
    L1 does not hold those lines until the next tile, which uses their other elements, comes to them."""
    target = recipe.target
    if along.extent <= MOST_VECTORS * lanes or len(found.inner.loops) != 1:
        return False
    (inner,) = found.inner.loops
    for load in found.operands:
        steps = (load.offset.coefficient(loop.var) for loop in (along, rows, inner))
        match tuple(steps):
            case (0, 1, int(step)) if step * SIZES[load.buffer.dtype] >= LINE_BYTES:
                pass
            case _:
                continue
        if load.buffer.space in CONSTANT or not _copied_once(recipe, found, load):
            continue
        if 2 * found.depth <= target.l1 // max(gcd(step * SIZES[load.buffer.dtype], target.l1_way), LINE_BYTES):
            continue
        aliases = inner.extent * SIZES[load.buffer.dtype] % recipe.target.l1_way == 0  # rows share the sets of L1
        others = tuple(loop.name for loop in _moving(found, load) if loop != inner)
        pack = Pack(recipe.name, load.buffer.name, inner.name, inner.extent + lanes * aliases, others)
        if pack.check(recipe.nest):
            recipe.do(pack)
            return True
    return False


def pack_operands(recipe: ScheduleBuilder, found: Contraction, along: Loop, width: int) -> None:
    """Operands are laid out in the order in which the tile reads them, where that pays."""
    current = contraction(recipe.at) or found
    for load in current.operands:
        moving = load.offset.coefficient(along.var)
        if moving == 0 or not worth_packing(recipe, current, load, along):
            continue
        others = [
            loop
            for loop in (*current.nest.loops, *current.inner.loops)
            if loop.var in load.vars and loop.name != along.name
        ]
        pack = Pack(
            recipe.name, load.buffer.name, along.name, width, tuple(loop.name for loop in others if loop.extent > 1)
        )
        if pack.check(recipe.nest):
            recipe.do(pack)


def sharing(found: Contraction, along: Loop) -> int:
    """How many rows use a weight."""
    weights = [load for load in found.operands if along.var in load.vars]
    return prod(loop.extent for loop in found.nest.loops if not any(loop.var in load.vars for load in weights))
