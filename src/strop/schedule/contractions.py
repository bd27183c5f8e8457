"""Schedules of contractions: a register tile under outer loops, operands packed in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import gcd

from strop.codegen.access import FEWEST_TURNED
from strop.loops.analysis import Contraction, accesses, contraction, fusable, shuffles_within, stride_within
from strop.loops.index import Index, Quotient, Remainder
from strop.loops.ir import CONSTANT, Load, Loop, Nest
from strop.loops.passes.blocking import RFactor
from strop.loops.passes.loop_modes import Unroll, Vectorise
from strop.loops.passes.packing import Pack, loops_around
from strop.loops.passes.primitives import Fuse, Reorder, Sink, Split, pieces
from strop.schedule.builder import PARALLEL_EFFORT, ScheduleBuilder, balance, effort, fuse_all
from strop.schedule.channel_blocking import ChannelBlocks, choose_channel_blocks
from strop.schedule.operand_packing import pack_operands, packable, sharing, transpose_rows, worth_packing
from strop.schedule.prefetching import prefetch_beside, prefetch_panels
from strop.schedule.tiles import Demand, Tile, best
from strop.target.description import Target

FEWEST_PREFETCHED = 3  # rows that share a weight: from here on the next panel is prefetched
FEWEST_ROWS, ENOUGH_ROWS = 4, 8  # a loop of fewer makes no tile where there is another one of so many
LONG_SUM = 64  # steps, from which eight at a time gain more (1 to 2%) than their code costs
PACKED_AT_EVERY_CALL = 0.01  # of a gather: where two loops are as good otherwise, the one that needs no copy is taken
SCATTERED_STORE = 16.0  # cycles of a vector whose lanes go to memory one by one
TURNED_STORE = 4.0  # of one in a square that is transposed in registers: 120 shuffles for 28 vectors on AVX-512
MOST_WRITTEN_OUT = 32  # statements of a step, of several sums side by side


def tile_contraction(recipe: ScheduleBuilder, found: Contraction) -> None:
    """A register tile for the contraction that the recipe is at."""
    target = recipe.target
    lanes = target.lanes("f64" if found.inner.stores[0].target.dtype in ("f64", "i64") else "f32")
    around = loops_around(recipe.nest, recipe.at.loops[0].name) if recipe.at.loops else ()
    _fuse_parallel(recipe)
    found = contraction(recipe.at) or found
    along = _vector_loop(recipe, found, lanes)
    if along is None:
        _dot_products(recipe, found)
        return
    rows = _row_loop(found, along, lanes)
    if rows is not None and transpose_rows(recipe, found, along, rows, lanes):
        found = contraction(recipe.at) or found
    tile, demand = _tile(recipe, found, along, rows, lanes)
    beside = choose_channel_blocks(found, along, rows, tile, demand, lanes, target, recipe.threads)
    width = tile.vectors * lanes
    if beside is None and (beside := _row_pairs(found, along, rows, demand, target)) is not None:
        demand, width = replace(demand, looped=False), lanes
    _order_reduction(recipe, found, along, rows, demand)
    pack_operands(recipe, found, along, width)
    outer = _outer(recipe, found, along, rows)
    blocks: list[str] = []
    if beside is not None:
        tile, name = beside.tile, beside.loop.name
        if beside.loop.extent > beside.steps:
            recipe.do(Split(recipe.name, name, beside.steps))
            outer, name = [f"{name}.o" if one == name else one for one in outer], f"{name}.i"
        outer, blocks = [one for one in outer if one != name], [name]
    ones = [loop.name for loop in recipe.at.loops if loop not in (along, rows) and loop.extent == 1]
    row_names = [rows.name] if rows is not None else []
    panels = -(-along.extent // width)
    block = _block(recipe, found, along, rows, tile, panels) if rows is not None and not outer and not blocks else 0
    if rows is not None and block:
        recipe.order(*ones, rows.name, along.name)
        recipe.do(Split(recipe.name, rows.name, block, tail="balanced" if block == tile.rows else "rest"))
        row_names = [f"{rows.name}.i"]
        recipe.do(Reorder(recipe.name, (along.name, *row_names)))
    first = not blocks and not demand.lines and _panels_first(recipe, found, along, outer, panels)
    if not block:
        recipe.order(*ones, *((along.name, *outer) if first else (*outer, along.name)), *row_names, *blocks)
    lane = along.name
    if along.extent > width:
        recipe.do(Split(recipe.name, along.name, width, tail="rest"))
        lane = f"{along.name}.i"
        recipe.do(Reorder(recipe.name, (f"{along.name}.o", *(outer if first else ()), *row_names, *blocks, lane)))
    else:
        recipe.order(*ones, *outer, *row_names, *blocks, lane)
    sunk = [lane]
    if rows is not None:
        if rows.extent > tile.rows != block:
            recipe.do(Split(recipe.name, row_names[0], tile.rows))
            row_names = [f"{row_names[0]}.i"]
        for name in (*row_names, *blocks):
            recipe.do(Unroll(recipe.name, name))
        sunk = [*row_names, *blocks, lane] if tile.rows >= tile.vectors else [*blocks, lane, *row_names]
    recipe.do(Vectorise(recipe.name, lane))
    recipe.do(Sink(recipe.name, tuple(sunk)))
    _unroll_reduction(recipe, found, demand)
    walked = any(loop.kind == "sequential" for loop in recipe.nest.loops)
    if rows is not None and rows.extent > tile.rows and beside is None and not walked:
        prefetch_beside(recipe, found, along, rows, tile)
    from_l2 = block == tile.rows  # panels of those come from there, tile after tile
    if not walked and not from_l2 and sharing(found, along) >= FEWEST_PREFETCHED:
        of_blocks = [f"{beside.loop.name}.o"] if beside is not None else []
        prefetch_panels(recipe, lane, (f"{along.name}.o", *of_blocks, *reversed(around)))


def _fuse_parallel(recipe: ScheduleBuilder) -> None:
    """Neighbouring output loops that every access steps through as one: a 1×1 convolution's height and width."""
    _drop_ones(recipe)
    fuse_all(recipe)
    for loop in recipe.at.loops:
        period = _period(recipe.at, loop)
        if 1 < period < loop.extent and loop.extent % period == 0 and not _patterned(recipe, loop, period):
            recipe.do(Split(recipe.name, loop.name, period))


def _patterned(recipe: ScheduleBuilder, loop: Loop, period: int) -> bool:
    """Whether vectors hold several periods (channels of narrow groups) and shuffle what they read."""
    lanes = recipe.target.lanes("f32")
    moving = [offset for offset in accesses(recipe.at) if offset.coefficient(loop.var) is None]
    return 2 * period < lanes and all(shuffles_within(offset, loop.var, lanes) for offset in moving)


def _period(nest: Nest, loop: Loop) -> int:
    """The step of a loop after which reads that go by ⌊i/n⌋ and i mod n repeat (strided transposed windows)."""
    found = 1
    for offset in accesses(nest):
        if offset.coefficient(loop.var) is not None:
            continue
        for atom, _ in offset.terms:
            if isinstance(atom, Quotient | Remainder) and atom.of.coefficient(loop.var) == 1 and found % atom.by:
                found = found * atom.by // gcd(found, atom.by)
    return found


def _drop_ones(recipe: ScheduleBuilder) -> None:
    """Loops of one iteration go outermost, so that they are in nobody's way."""
    ones = [loop.name for loop in recipe.at.loops if loop.extent == 1]
    others = [loop.name for loop in recipe.at.loops if loop.extent > 1]
    if ones and others:
        recipe.order(*ones, *others)


def _vector_loop(recipe: ScheduleBuilder, found: Contraction, lanes: int) -> Loop | None:
    """The output loop to vectorise: contiguous in the result and in what it reads (or packable), and long enough."""
    best_loop, best_score = None, 0.0
    for loop in found.nest.loops:
        if loop.extent < 2:
            continue
        gathers = 0.0
        read = False
        for load in found.operands:
            stride = stride_within(load.offset, loop.var, lanes)
            if stride == 0:
                continue
            read = True
            if stride == 1:
                continue
            if worth_packing(recipe, found, load, loop):
                gathers += 0 if load.buffer.space in CONSTANT else PACKED_AT_EVERY_CALL
            else:
                gathers += 0.1 if stride is None and shuffles_within(load.offset, loop.var, lanes) else 1
        stored = sum(_store_cycles(found, s.offset, loop, lanes) for s in found.outputs)
        full = loop.extent / (-(-loop.extent // lanes) * lanes)
        score = full / (1 + 12 * gathers + 2 * stored / max(found.depth, 1))
        if read and score > best_score:
            best_loop, best_score = loop, score
    dots = all(_dot_stride(found, load) for load in found.operands)
    return best_loop if best_score > (0.12 if dots and found.depth >= 2 * lanes else 0.0) else None


def _store_cycles(found: Contraction, offset: Index, loop: Loop, lanes: int) -> float:
    """Cycles that storing a vector of results takes beyond a whole one, whose lanes lie side by side."""
    if stride_within(offset, loop.var, lanes) == 1:
        return 0.0
    rows = (other for other in found.nest.loops if other is not loop and other.extent >= FEWEST_TURNED)
    return TURNED_STORE if any(offset.coefficient(other.var) == 1 for other in rows) else SCATTERED_STORE


def _dot_stride(found: Contraction, load: Load) -> bool:
    """Whether the innermost reduce loops step through a read one element at a time."""
    return any(load.offset.coefficient(loop.var) == 1 for loop in found.inner.loops) or not load.vars & set(
        found.inner.vars
    )


def _row_loop(found: Contraction, along: Loop, lanes: int) -> Loop | None:
    """The output loop whose steps share what the vector loop reads: more rows, fewer reads per multiply-add. Lines of
    one image share what their windows read."""
    choices = []
    for loop in found.nest.loops:
        if loop is along or loop.extent < 2:
            continue
        shared = sum(
            stride_within(load.offset, along.var, lanes) != 0 and load.offset.coefficient(loop.var) == 0
            for load in found.operands
        )
        if any(load.offset.coefficient(loop.var) is None for load in found.operands):
            continue
        step = min((abs(s.offset.coefficient(loop.var) or 0) for s in found.outputs), default=0)
        choices.append((shared == 0, step, loop))
    choices = (
        [c for c in choices if not c[0]]
        or [c for c in choices if _window(found, c[2], 1)[0]]
        or [c for c in choices if len(found.operands) == 1]
    )
    few = [c for c in choices if c[2].extent < FEWEST_ROWS or _is_tap(found, c[2])]
    if any(c[2].extent >= ENOUGH_ROWS for c in choices if c not in few):  # taps of a window are no rows: channels are
        choices = [c for c in choices if c not in few]
    return min(choices, key=lambda c: (c[0], c[1]))[2] if choices else None


def _is_tap(found: Contraction, loop: Loop) -> bool:
    """Whether a loop moves a window over a longer sum: the taps of the gradient of a filter."""
    parts = (part for load in found.operands for part in load.index if loop.var in part.vars)
    return any(loop.extent < inner.extent for part in parts for inner in found.inner.loops if inner.var in part.vars)


def _tile(
    recipe: ScheduleBuilder, found: Contraction, along: Loop, rows: Loop | None, lanes: int
) -> tuple[Tile, Demand]:
    broadcast = streamed = paired = shuffled = 0
    alias = False
    divides = 0
    for load in found.operands:
        moves = stride_within(load.offset, along.var, lanes) != 0
        by_row = rows is not None and load.offset.coefficient(rows.var) != 0
        broadcast += by_row and not moves
        streamed += moves and not by_row
        paired += moves and by_row
        if by_row and rows is not None and not moves:
            step = abs(load.offset.coefficient(rows.var) or 0) * 4
            alias = alias or (step > 0 and step % recipe.target.l1_way == 0)
        if load.offset.coefficient(along.var) is None and not worth_packing(recipe, found, load, along):
            divides = _largest_tile(load, along, lanes)
            shuffled += by_row and shuffles_within(load.offset, along.var, lanes)
    demand = Demand(
        rows.extent if rows else 1,
        along.extent,
        max(found.depth, 1),
        found.accumulators,
        broadcast,
        streamed,
        paired,
        alias,
        divides,
        *_window(found, rows, paired),
        lines=paired > 0 and not streamed and not broadcast and _slid(found, rows) is not None,
        shuffled=shuffled,
    )
    shared = _shared(recipe, found, along, rows, lanes)
    tile = best(demand, lanes, recipe.target, shared)
    if demand.window and (tile.rows * tile.vectors < recipe.target.fma_latency or found.depth > WRITTEN_OUT):
        demand = replace(demand, looped=True)
        tile = best(demand, lanes, recipe.target, shared)
    return tile, demand


def _shared(
    recipe: ScheduleBuilder, found: Contraction, along: Loop, rows: Loop | None, lanes: int
) -> Callable[[Tile], float]:
    """How evenly threads share the loops around a tile, by the tile; one of these loops is divided among them: that of
    rows, where these are read once (see `_block`)."""
    threads = recipe.threads
    if threads == 1 or recipe.focus or effort(recipe.nest) < PARALLEL_EFFORT:
        return lambda tile: 1.0
    others = [balance(loop.extent, threads) for loop in recipe.at.loops if loop not in (along, rows)]

    def shared(tile: Tile) -> float:
        panels, rest = divmod(along.extent, tile.vectors * lanes)
        busy = -(-panels // threads) * tile.vectors * lanes + rest  # the rest is one thread's
        even = [*others, along.extent / (threads * busy)]
        if rows is not None:
            busy = sum(-(-count // threads) * size for count, size in pieces(rows.extent, tile.rows))
            even = [*(others if read_once else even), rows.extent / (threads * busy)]
        return max(even)

    read_once = rows is not None and _moved_by(found, along) and _moved_by(found, rows)
    return shared


def _row_pairs(
    found: Contraction, along: Loop, rows: Loop | None, demand: Demand, target: Target
) -> ChannelBlocks | None:
    """Two rows of a small window at a time, which share what they read: the loop over rows, and the tile in each.

    In registers are the sums, the weights of two rows of the window, and one element (`codegen.unroll_order`).
    """
    if rows is None or not demand.window or found.depth > WRITTEN_OUT or demand.accumulators > 1 or demand.shuffled:
        return None
    others = (loop for loop in reversed(found.nest.loops) if loop not in (along, rows) and loop.extent % 2 == 0)
    loop = next((one for one in others if _window(found, one, demand.paired)[0]), None)
    columns = (target.vector_registers - 1 - 2 * demand.window * demand.streamed) // 2
    columns = min(columns, MOST_PRODUCTS // (2 * found.depth), demand.rows)
    if loop is None or 2 * columns < target.fma_latency * target.fma_pipes or len(found.operands) != 2:
        return None
    return ChannelBlocks(loop, 2, Tile(columns, 1))


WRITTEN_OUT = 32  # steps of a window that are unrolled: rows then share what they read
MOST_PRODUCTS = 144  # that are written out for two rows
LONGEST_SLIDE = 16  # steps of its innermost loop that are, where the whole window has too many


def _window(found: Contraction, rows: Loop | None, paired: int) -> tuple[int, int]:
    """How many steps of the reduction slide along the rows, and how far a row moves them; 0 where none does."""
    slid = _slid(found, rows) if paired else None
    return (slid[0].extent, slid[1]) if slid is not None else (0, 1)


def _slid(found: Contraction, rows: Loop | None) -> tuple[Loop, int] | None:
    """The loop of the reduction that slides along the rows, and how many of its steps a row is."""
    if rows is None:
        return None
    for load in found.operands:
        by_row = load.offset.coefficient(rows.var) or 0
        for loop in found.inner.loops:
            step = load.offset.coefficient(loop.var) or 0
            slide = abs(by_row // step) if step and by_row % step == 0 else 0
            if 0 < slide < loop.extent and 1 < loop.extent <= LONGEST_SLIDE:
                return loop, slide
    return None


def _largest_tile(load: Load, along: Loop, lanes: int) -> int:
    """The largest multiple of a vector within which a read moves evenly along a loop."""
    width = lanes
    while width * 2 <= along.extent and stride_within(load.offset, along.var, width * 2) is not None:
        width *= 2
    return width


def _order_reduction(
    recipe: ScheduleBuilder, found: Contraction, along: Loop, rows: Loop | None, demand: Demand
) -> None:
    """The reduce loop that steps through the rows' operand one element at a time goes innermost; where rows share what
    a window reads, the one that slides along them: what is read is then needed for a few steps only."""
    loops = [loop for loop in found.inner.loops if loop.extent > 1]
    if len(loops) < 2:
        return
    guide = next((load for load in found.operands if load.offset.coefficient(along.var) == 0), found.operands[0])
    slid = _slid(found, rows) if demand.window else None

    def step(loop: Loop) -> tuple[bool, int]:
        size = guide.offset.coefficient(loop.var)
        return slid is None or loop != slid[0], abs(size) if size else 1 << 60

    names = [loop.name for loop in found.inner.loops if loop.extent == 1]
    names += [loop.name for loop in sorted(loops, key=step, reverse=True)]
    if names != [loop.name for loop in found.inner.loops]:
        recipe.do(Reorder(recipe.name, tuple(names)))


def _outer(recipe: ScheduleBuilder, found: Contraction, along: Loop, rows: Loop | None) -> list[str]:
    """The loops around tiles. Groups of channels, each with weights of its own, go inside where L2 holds all weights
    but not what they are applied to: neighbouring groups share lines."""
    loops = [loop for loop in recipe.at.loops if loop not in (along, rows) and loop.extent > 1]
    half = recipe.target.l2 // 2
    weights = [load for load in found.operands if load.buffer.space in CONSTANT]
    others = [load for load in found.operands if load.buffer.space not in CONSTANT]
    if sum(load.buffer.bytes for load in weights) <= half < sum(load.buffer.bytes for load in others):
        loops.sort(key=lambda loop: any(loop.var in load.vars for load in weights))
    return [loop.name for loop in loops]


def _panels_first(recipe: ScheduleBuilder, found: Contraction, along: Loop, outer: list[str], panels: int) -> bool:
    """Whether panels of the streamed operand go outside (each read once, rows again per panel) or inside.

    Balance between threads decides first, then the bytes that come from beyond L2.
    """
    if not outer:
        return True
    visits = next(loop.extent for loop in recipe.at.loops if loop.name == outer[0])
    if recipe.threads > 1 and not recipe.focus:
        inside, outside = balance(visits, recipe.threads), balance(panels, recipe.threads)
        if outside < 0.8 and inside > outside:
            return False
        if inside < 0.8 and outside > inside:
            return True
    streamed = sum(load.buffer.bytes for load in found.operands if load.offset.coefficient(along.var) != 0)
    moving = sum(load.buffer.bytes for load in found.operands if load.offset.coefficient(along.var) == 0)
    reread = moving * panels if moving > recipe.target.l2 // 2 else 0
    refetched = streamed * visits if streamed > recipe.target.l2 // 2 else 0
    return refetched >= reread


def _block(recipe: ScheduleBuilder, found: Contraction, along: Loop, rows: Loop, tile: Tile, panels: int) -> int:
    """How many rows all panels are applied to before the next ones; 0: to all rows, panel by panel.

    Parts of rows that are only added up are read once in any order: tile after tile, as they lie. Panels of weights are
    applied to some rows at a time where L2 doesn't hold the rows, and every panel would read them again. Those that L2
    holds are applied to one tile after the other; of others, which every block reads again, as few blocks as L2 allows
    must be fewer bytes.
    """
    half = recipe.target.l2 // 2
    streamed = sum(load.buffer.bytes for load in found.operands if load.offset.coefficient(along.var) != 0)
    moving = sum(load.buffer.bytes for load in found.operands if load.offset.coefficient(rows.var) != 0)
    if panels > 1 and _moved_by(found, along) and _moved_by(found, rows):
        return tile.rows
    if panels == 1 or moving <= half:
        return 0
    if streamed <= half:
        return tile.rows
    block = max(half * rows.extent // moving // tile.rows, 1) * tile.rows
    refetched = streamed * -(-rows.extent // block)
    return block if block < rows.extent and 2 * refetched < moving * panels else 0


def _moved_by(found: Contraction, loop: Loop) -> bool:
    """Whether every step of a loop reads something else, but for values that a sum does not walk through."""
    walked = [load for load in found.operands if not load.vars.isdisjoint(found.inner.vars)]
    return all(load.offset.coefficient(loop.var) != 0 for load in walked or found.operands)


def _unroll_reduction(recipe: ScheduleBuilder, found: Contraction, demand: Demand) -> None:
    """Small windows are written out (rows share their reads); otherwise a few steps of the innermost loop."""
    names = {loop.name for loop in found.inner.loops if loop.extent > 1}
    if not names:
        return
    if demand.paired and found.depth <= WRITTEN_OUT and not demand.looped:
        for name in sorted(names):
            recipe.do(Unroll(recipe.name, name))
        return
    ordered = [loop for loop in recipe.nest.all_loops if loop.name in names]
    inner = ordered[-1]
    if inner.extent <= (demand.window if demand.looped else 4):
        recipe.do(Unroll(recipe.name, inner.name))
        return
    steps = (8, 4, 3, 2, 5) if inner.extent >= LONG_SUM else (4, 3, 2, 5)
    most = MOST_WRITTEN_OUT // len(found.inner.stores)
    by = next((u for u in steps if inner.extent % u == 0 and u <= most), 0)
    if by:
        recipe.do(Split(recipe.name, inner.name, by))
        recipe.do(Unroll(recipe.name, f"{inner.name}.i"))


def _dot_products(recipe: ScheduleBuilder, found: Contraction) -> None:
    """Vectorise along the reduction itself: the loop (with those around it) that steps through what it reads in order.

    Constant operands are packed in the order of the others.
    """
    lanes = recipe.target.lanes("f32")
    free = [load for load in found.operands if not packable(recipe, load)] or list(found.operands)
    loops = [loop for loop in found.inner.loops if loop.extent > 1]
    contiguous = [loop for loop in loops if all(load.offset.coefficient(loop.var) in (0, 1) for load in free)]
    inner = max(contiguous, key=lambda loop: loop.extent, default=None)
    if inner is None or not free:
        return
    others = [loop for loop in found.inner.loops if loop is not inner]
    others.sort(key=lambda loop: -(free[0].offset.coefficient(loop.var) or 0))
    names = [loop.name for loop in (*others, inner)]
    if names != [loop.name for loop in found.inner.loops]:
        recipe.do(Reorder(recipe.name, tuple(names)))
    for load in found.operands:
        if load in free or load.offset.coefficient(inner.var) in (0, 1):
            continue
        around = [loop.name for loop in (*found.nest.loops, *others) if loop.var in load.vars and loop.extent > 1]
        pack = Pack(recipe.name, load.buffer.name, inner.name, inner.extent, tuple(around))
        if not pack.check(recipe.nest):
            return
        recipe.do(pack)
    last = inner.name
    for loop in reversed(others):
        current = contraction(recipe.at)
        if current is None or loop.extent == 1 or not fusable(current.inner, *current.inner.loops[-2:]):
            break
        recipe.do(Fuse(recipe.name, loop.name, last))
        last = loop.name
    current = contraction(recipe.at)
    extent = current.inner.loops[-1].extent if current is not None else inner.extent
    if extent >= lanes:
        recipe.do(RFactor(recipe.name, last, _lanes_of_dot(extent, lanes)))
        recipe.do(Vectorise(recipe.name, f"{last}.l"))


def _lanes_of_dot(extent: int, lanes: int) -> int:
    """How many sums a dot product keeps: whole vectors, or a divisor, so that no rest has vectors of its own."""
    if extent % lanes:
        divisors = [by for by in range(lanes, 4 * lanes + 1) if extent % by == 0]
        if divisors:
            return min(divisors, key=lambda by: (-(-by // lanes) * lanes / by, -by))
    return min(4 * lanes, extent // lanes * lanes)
