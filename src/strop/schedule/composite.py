"""Schedules of nests with several passes: softmax, norms, attention, recurrent cells, anything composed."""

from __future__ import annotations

from math import gcd

from strop.core.dtypes import BYTES, SIZES
from strop.loops.analysis import Contraction, contraction, heavy
from strop.loops.ir import Load, Loop, Nest, Store, loads
from strop.loops.passes.blocking import RFactor
from strop.loops.passes.loop_modes import Unroll, Vectorise
from strop.loops.passes.packing import Pack
from strop.loops.passes.primitives import Reorder, Serpentine, Sink, Split
from strop.schedule.builder import ScheduleBuilder, by_stride, fuse_all
from strop.schedule.contractions import tile_contraction
from strop.schedule.transpose import transpose_tiles
from strop.target.description import Target

FEWEST_GATHERED = 24  # points that read rows that lie far apart, from which a copy pays
POINTS = 6  # outer points that share what inner contractions read: the rows of their register tiles


def schedule_rows(recipe: ScheduleBuilder) -> None:
    if _vectorise_outside(recipe) or _share_between_points(recipe):
        return
    nest = recipe.nest
    _passes(recipe, nest)
    for item in nest.body:
        if isinstance(item, Nest) and any(loop.kind == "reduce" for loop in item.all_loops):
            _walk_back(recipe, item)


def _passes(recipe: ScheduleBuilder, nest: Nest) -> None:
    """Each inner nest by itself."""
    for item in nest.body:
        if not isinstance(item, Nest):
            continue
        found = contraction(item)
        if found is not None and item.loops:
            _inner_contraction(recipe, found)
        elif _written_out(item):
            _vectorise_pass(recipe, item)
            for loop in (loop for i in item.body if isinstance(i, Nest) for loop in i.loops):
                recipe.do(Unroll(recipe.name, loop.name))
        elif any(isinstance(i, Nest) for i in item.body):
            _passes(recipe, item)
        elif item.loops and not _turn(recipe, item):
            _vectorise_pass(recipe, item)


def _turn(recipe: ScheduleBuilder, item: Nest) -> bool:
    """Schedule a pass that copies a matrix into the other order."""
    if len(item.loops) != 2 or len(item.stores) != 1 or any(loop.kind != "parallel" for loop in item.loops):
        return False
    across, along = item.loops
    (copy,) = item.stores
    turns = copy.offset.coefficient(along.var) == 1 and {one.offset.coefficient(across.var) for one in copy.loads} == {
        1
    }
    if not turns or along.extent < 2 or SIZES[copy.target.dtype] != 4:
        return False
    transpose_tiles(recipe, across.name, along.name)
    return True


def _written_out(nest: Nest) -> bool:
    """A pass whose points compute small tables: inner loops of a few plain steps (5×5 at most), to be unrolled."""
    inner = [item for item in nest.body if isinstance(item, Nest)]
    return bool(nest.loops and inner) and all(
        item.iterations <= 25 and all(isinstance(i, Store) and not i.reduce for i in item.body) for item in inner
    )


def _inner_contraction(recipe: ScheduleBuilder, found: Contraction) -> None:
    recipe.focus = tuple(loop.name for loop in found.nest.loops)
    tile_contraction(recipe, found)
    recipe.focus = ()


def _walk_back(recipe: ScheduleBuilder, item: Nest) -> None:
    """Weights that every step of a sequential loop reads are read in serpentine order, forwards and then backwards:
    what was read last is still in L1 or L2.

    Measured on LSTM and GRU layers: 1 to 4% where L2 holds all, more where it nearly does. With 4 MB of weights too
    little of them stays, and the hardware prefetcher follows a backward stream less well: 5% slower. Where a vector is
    half a cache line (Zen 3), each panel is therefore read forwards and only the order of panels alternates: 3% faster,
    up to 11% with 24-bit weights. With several threads the order stays the same: each thread reads its own part of the
    weights, which its L2 holds.
    """
    nest, l2 = recipe.nest, recipe.target.l2
    sums = recipe.target.vector_bytes >= recipe.target.line
    if recipe.threads > 1:
        return
    weights = sum(buffer.bytes for buffer in item.reads if buffer.space != "scratch")
    if not nest.loops or nest.loops[-1].kind != "sequential" or not recipe.target.l1 < weights < 4 * l2:
        return
    for name in (name for loop in item.loops if loop.extent > 1 for name in (f"{loop.name}.o", loop.name)):
        one = Serpentine(recipe.name, nest.loops[-1].name, name, sums)
        if one.check(nest):
            recipe.do(one)
            return


def _vectorise_outside(recipe: ScheduleBuilder) -> bool:
    """A row that is not contiguous (channels of an image): neighbouring rows are, so lanes are rows."""
    nest, lanes = recipe.nest, recipe.target.lanes("f32")
    if not nest.loops or any(loop.kind != "parallel" for loop in nest.loops):
        return False
    inner = [loop.var for loop in nest.all_loops if loop not in nest.loops]
    local = set(nest.all_scratch)
    offsets = [load.offset for s in nest.stores for load in loads(s) if load.buffer not in local]
    if any(offset.coefficient(var) == 1 for offset in offsets for var in inner if var.extent > 1):
        return False
    candidates = [
        loop
        for loop in nest.loops
        if loop.extent > 1
        and any(offset.coefficient(loop.var) == 1 for offset in offsets)
        and all(offset.coefficient(loop.var) in (0, 1) for offset in offsets)
        and all(s.offset.coefficient(loop.var) == 1 for s in nest.stores if s.target not in local)
    ]
    if not candidates:
        return False
    loop = max(candidates, key=lambda c: c.extent)
    name = loop.name
    if loop.extent > lanes:
        recipe.do(Split(recipe.name, name, lanes, tail="rest"))
        name = f"{name}.i"
    order = [other.name for other in nest.loops if other is not loop]
    if loop.extent > lanes:
        order.append(f"{loop.name}.o")
    _innermost(recipe, order, name)
    recipe.do(Vectorise(recipe.name, name))
    recipe.do(Sink(recipe.name, (name,)))
    return True


def _innermost(recipe: ScheduleBuilder, others: list[str], name: str) -> None:
    from strop.loops.passes.primitives import find_loop

    owner, _ = find_loop(recipe.nest, name) or (recipe.nest, 0)
    present = [loop.name for loop in owner.loops]
    names = [n for n in others if n in present] + [name]
    if names != [n for n in present if n in names]:
        recipe.do(Reorder(recipe.name, tuple(names)))


def _share_between_points(recipe: ScheduleBuilder) -> bool:
    """Inner contractions that read the same for neighbouring points (attention's keys, values): several points at once.

    The points are unrolled inside the contractions, which makes them the rows of register tiles, and stay a loop around
    the passes between them.
    """
    nest, lanes = recipe.nest, recipe.target.lanes("f32")
    if not nest.loops or nest.loops[-1].kind != "parallel" or nest.loops[-1].extent < 2:
        return False
    point = nest.loops[-1]
    items = [item for item in nest.body if isinstance(item, Nest)]
    found = [c for item in items if (c := contraction(item)) is not None and len(item.loops) == 1]
    if not any(_shared(load, point, c) for c in found for load in c.operands):
        return False
    if len(nest.loops) > 1:
        for c in found:
            _pack_shared(recipe, c, point, nest.loops[-2], lanes)
    name = point.name
    if point.extent > POINTS:
        recipe.do(Split(recipe.name, point.name, POINTS))
        name = f"{point.name}.i"
    recipe.do(Unroll(recipe.name, name))
    tiled = {c.nest.loops[0].name for c in found}
    passes = [item for item in items if item.loops and item.loops[0].name not in tiled]
    recipe.do(Sink(recipe.name, (name,), tuple(item.loops[0].name for item in passes)))
    vectors = 4 if recipe.target.vector_registers >= 32 else 2
    for c in found:
        _tile_inner(recipe, c, vectors * lanes)
    for item in passes:
        _vectorise_pass(recipe, item)
    return True


def _shared(load: Load, point: Loop, c: Contraction) -> bool:
    return point.var not in load.vars and bool(load.vars & set(c.nest.vars)) and load.buffer.space != "scratch"


def _tile_inner(recipe: ScheduleBuilder, c: Contraction, width: int) -> None:
    """Lanes along the contraction's own loop, a few steps of the reduction at a time."""
    loop = c.nest.loops[0]
    name = loop.name
    if loop.extent > width:
        recipe.do(Split(recipe.name, name, width, tail="rest"))
        name = f"{name}.i"
    recipe.do(Vectorise(recipe.name, name))
    recipe.do(Sink(recipe.name, (name,)))
    reduce = c.inner.loops[-1]
    by = next((u for u in (4, 2) if reduce.extent % u == 0), 0)
    if by and reduce.extent > by:
        recipe.do(Split(recipe.name, reduce.name, by))
        recipe.do(Unroll(recipe.name, f"{reduce.name}.i"))


def _pack_shared(recipe: ScheduleBuilder, c: Contraction, point: Loop, at: Loop, lanes: int) -> None:
    """An operand that all points share is copied once per outer iteration, contiguous along the lanes: where it is
    contiguous along the reduction, or its rows lie far apart and enough points read them."""
    along = c.nest.loops[0]
    if along.extent < lanes or point.extent < 4:
        return
    for load in c.operands:
        moving = load.offset.coefficient(along.var)
        turned = moving not in (0, 1)
        if moving == 0 or point.var in load.vars or load.guards:
            continue
        if not turned and not (point.extent >= FEWEST_GATHERED and _far_apart(c, load, along, recipe.target)):
            continue
        order = tuple(loop.name for loop in c.inner.loops if loop.var in load.vars)
        width = min(4 * lanes, -(-along.extent // lanes) * lanes)
        pack = Pack(recipe.name, load.buffer.name, along.name, width, order, at=at.name)
        if pack.check(recipe.nest):
            recipe.do(pack)
            if len(order) == 1:
                across, written = f"{order[0]}.pack", f"{along.name}.pack"
                if turned:
                    transpose_tiles(recipe, across, written)
                else:
                    _copy_rows(recipe, across, written, lanes, along.extent)


def _far_apart(c: Contraction, load: Load, along: Loop, target: Target) -> bool:
    """Whether rows of an operand have so much of other tensors between them (keys and values of one projection) that
    they take a page of their own each, or share so few sets of L1 that they evict each other."""
    if len(c.inner.loops) != 1:
        return False
    row, item = c.inner.loops[0], SIZES[load.buffer.dtype]
    step = (load.offset.coefficient(row.var) or 0) * item
    if step <= along.extent * item:
        return False
    kept = target.l1 // max(gcd(step, target.l1_way), target.line) * target.line  # bytes of such rows that L1 holds
    return row.extent * min(step, target.page) > target.tlb * target.page or row.extent * along.extent * item > kept


def _copy_rows(recipe: ScheduleBuilder, across: str, along: str, lanes: int, extent: int) -> None:
    name = along
    recipe.do(Reorder(recipe.name, (across, along)))
    if extent > lanes:
        recipe.do(Split(recipe.name, along, lanes, tail="rest"))
        name = f"{along}.i"
    recipe.do(Vectorise(recipe.name, name))


def _vectorise_pass(recipe: ScheduleBuilder, owner: Nest) -> None:
    """One loop of a pass in lanes: along a reduction with an accumulator per lane, otherwise element by element."""
    owner = _straighten(recipe, owner)
    loop, lanes = owner.loops[-1], recipe.target.lanes("f32")
    name = loop.name
    if loop.extent < 2 or loop.mode != "serial" or loop.kind == "sequential" or not _mostly_contiguous(owner, loop):
        return
    if loop.kind == "reduce":
        if loop.extent >= lanes:
            one = RFactor(recipe.name, name, min(4 * lanes, loop.extent // lanes * lanes))
            if one.check(recipe.nest):
                recipe.do(one)
                recipe.do(Vectorise(recipe.name, f"{name}.l"))
        return
    width = lanes * (1 if heavy(owner) or owner.scratch else 4)
    if loop.extent > width:
        while width > lanes and loop.extent % width:
            width -= lanes
        recipe.do(Split(recipe.name, name, width, tail="rest"))
        name = f"{name}.i"
    recipe.do(Vectorise(recipe.name, name))
    if owner.scratch:
        recipe.do(Sink(recipe.name, (name,)))


def _straighten(recipe: ScheduleBuilder, owner: Nest) -> Nest:
    """Loops of a pass in the order in which its elements lie, neighbours as one where they can be."""
    if len(owner.loops) < 2 or any(loop.kind == "sequential" for loop in owner.loops):
        return owner
    recipe.focus = tuple(loop.name for loop in owner.loops)
    offsets = [load.offset for s in owner.stores for load in loads(s)] + [s.offset for s in owner.stores]
    widest = max(offsets, key=lambda offset: offset.bounds[1])
    recipe.order(*(loop.name for loop in by_stride(owner.loops, widest)))
    fuse_all(recipe)
    made = recipe.at
    recipe.focus = ()
    return made


def _picked(load: Load, loop: Loop) -> bool:
    step = load.offset.coefficient(loop.var)
    return load.offset.is_data if step is None else load.dtype in BYTES and 1 < step <= 4


def _mostly_contiguous(nest: Nest, loop: Loop) -> bool:
    """Whether a loop steps through its reads and writes one element at a time.

    Places that data give are gathered, and channels of bytes picked from whole vectors, if the results lie in a row.
    """
    written = [s.offset.coefficient(loop.var) for s in nest.stores if s.target.shape]
    rows = loop.kind == "parallel" and set(written) == {1}
    found = [load for s in nest.stores for load in loads(s) if not (rows and _picked(load, loop))]
    strides: list[int | None] = [load.offset.coefficient(loop.var) for load in found]
    strides += [s.offset.coefficient(loop.var) for s in nest.stores]
    good = sum(stride == 1 for stride in strides)
    bad = sum(stride not in (0, 1) for stride in strides)
    return good > 0 and bad <= good // 4
