"""Default schedules: for each nest a list of passes that a person could have written.

Four kinds of nest, told apart by shape alone: walks that end early, pointwise (one vector loop), contractions (a
register tile under outer loops, operands packed in the order in which they are read) and rows (several passes over
scratch, each vectorised).
"""

from __future__ import annotations

from math import prod

from strop.loops.analysis import contraction, heavy, work
from strop.loops.index import Index
from strop.loops.ir import Loop, Nest, loads
from strop.loops.passes.loop_modes import Parallelise, Vectorise, in_parts, leading, step_parts
from strop.loops.passes.primitives import Reorder, Sink, Split
from strop.loops.volume import volume
from strop.schedule.builder import PARALLEL_EFFORT, ScheduleBuilder, balance, by_stride, effort, fuse_all
from strop.schedule.composite import schedule_rows
from strop.schedule.contractions import tile_contraction
from strop.schedule.sums import shorten_sums
from strop.schedule.transpose import schedule_transpose
from strop.schedule.trees import schedule_trees
from strop.target.description import Target

MOST_STREAMED = 2  # weighted operations per byte of nests that wait for memory
EVEN = 0.85  # of the threads' time that is used, from which a loop counts as evenly shared


def schedule(nest: Nest, target: Target, threads: int, pack: bool = True, *, cascades: bool = False) -> ScheduleBuilder:
    """The default schedule of a nest; with `cascades` its sums are as exact as eager's."""
    recipe = ScheduleBuilder(nest, target, threads, pack)
    found = contraction(nest)
    if any(loop.until for loop in nest.all_loops):
        schedule_trees(recipe)
        parallelise_outer(recipe, nest)
    elif not any(isinstance(item, Nest) for item in nest.body):
        _pointwise(recipe)
    elif found is not None and nest.iterations:
        tile_contraction(recipe, found)
        parallelise_outer(recipe, nest)
    else:
        _rows(recipe)
    shorten_sums(recipe, cascades=cascades)
    return recipe


# ---- pointwise -------------------------------------------------------------------------------------------------------


def _pointwise(recipe: ScheduleBuilder) -> None:
    nest = recipe.nest
    if not nest.loops:
        return
    if any(loop.kind != "parallel" for loop in nest.loops):
        if _writes_rows(nest):
            _lanes_along(recipe, nest.loops[-1])
        return
    _sort_by_stride(recipe)
    fuse_all(recipe)
    inner = recipe.nest.loops[-1]
    if not schedule_transpose(recipe) and _vectorisable(recipe.nest, inner):
        name = _lanes_along(recipe, inner)
        if nest.scratch:
            recipe.do(Sink(recipe.name, (name,)))
    parallelise_outer(recipe, nest)


def _lanes_along(recipe: ScheduleBuilder, inner: Loop) -> str:
    """The innermost loop by vectors, some of them at a time where an element takes little; the loop of their lanes."""
    lanes = recipe.target.lanes("f32")
    by, name = lanes * (1 if heavy(recipe.nest) else 4), inner.name
    if inner.extent > by:
        while by > lanes and inner.extent % by:
            by -= lanes
        recipe.do(Split(recipe.name, name, by, tail="rest"))
        name = f"{name}.i"
    recipe.do(Vectorise(recipe.name, name))
    return name


def _writes_rows(nest: Nest) -> bool:
    """Whether a walk writes row after row, some of them perhaps twice: what is in one row is apart."""
    inner = nest.loops[-1]
    if inner.kind != "parallel" or not _vectorisable(nest, inner):
        return False
    return all(store.offset.coefficient(inner.var) == 1 for store in nest.stores if store.target not in nest.scratch)


def _sort_by_stride(recipe: ScheduleBuilder) -> None:
    """Loops from the largest step in the result to the smallest."""
    nest = recipe.nest
    stores = [s for s in nest.stores if s.target not in nest.all_scratch]
    if not stores:
        return
    main = max(stores, key=lambda s: s.target.size)
    names = [loop.name for loop in by_stride(nest.loops, main.offset)]
    if names != [loop.name for loop in nest.loops]:
        recipe.do(Reorder(recipe.name, tuple(names)))


def _vectorisable(nest: Nest, loop: Loop) -> bool:
    """A loop whose lanes write different elements; most accesses should be contiguous along it."""
    if loop.extent < 2:
        return False
    for store in nest.stores:
        if store.target not in nest.scratch and store.offset.coefficient(loop.var) == 0:
            return False
    read = [load for s in nest.stores for load in loads(s) if load.buffer not in nest.scratch]
    offsets = [load.offset.coefficient(loop.var) for load in read]
    return not offsets or sum(o in (0, 1) for o in offsets) * 2 >= len(offsets) or loop.extent >= 8


def parallelise_outer(recipe: ScheduleBuilder, nest: Nest, rounds: int = 1) -> None:
    """Divide the work of a nest, as it was before it was scheduled, among threads: along the first loop that gives each
    as much, brought outermost. They meet after each of so many `rounds`."""
    threads = recipe.threads
    if threads < 2 or effort(nest) / max(rounds, 1) < PARALLEL_EFFORT:
        return
    main = max(_parts(recipe.nest), key=work, default=None)
    loop = _divisible(main, threads) if main is not None else None
    if main is None or loop is None:
        return
    before = [other.name for other in main.loops[: main.loops.index(loop)] if other.extent > 1]
    if before:
        recipe.do(Reorder(recipe.name, (loop.name, *before)))
    for name in dict.fromkeys(leading(part).name for part in _parts(recipe.nest) if _divisible(part, threads)):
        one = Parallelise(recipe.name, name)
        if one.check(recipe.nest):
            recipe.do(one)


def _parts(nest: Nest) -> list[Nest]:
    found = step_parts(nest) if in_parts(nest) else [nest]
    return [part for part in found if isinstance(part, Nest) and part.loops]


def _divisible(nest: Nest, threads: int) -> Loop | None:
    """Of the outer loops the first that threads share evenly, or the one that they share best.

    Where a nest moves more bytes than it computes, threads divide the largest tensor along its outermost dimension, as
    they do in most other nests: then each thread finds what it wrote before in its own caches.
    """
    outer = []
    for loop in nest.loops:
        if loop.kind != "parallel" or loop.mode != "serial":
            break
        if loop.extent > 1:
            outer.append(loop)
    offset = _largest(nest) if work(nest) < MOST_STREAMED * sum(volume(nest)) else None

    def order(loop: Loop) -> tuple[float, int]:
        step = offset.coefficient(loop.var) if offset is not None else 0
        return min(balance(loop.extent, threads), EVEN), abs(step) if step is not None else 0

    return max(outer, key=order, default=None)


def _largest(nest: Nest) -> Index | None:
    """Where in the largest tensor that it touches a nest reads or writes."""
    touched = [(store.target, store.offset) for store in nest.stores]
    touched += [(load.buffer, load.offset) for store in nest.stores for load in loads(store)]
    local = set(nest.all_scratch)
    found = max((one for one in touched if one[0] not in local), key=lambda one: one[0].bytes, default=None)
    return found[1] if found is not None else None


# ---- rows ------------------------------------------------------------------------------------------------------------


def _rows(recipe: ScheduleBuilder) -> None:
    """Several passes over a row: vectorise each pass along its own loop, or all of them along an outer loop."""
    nest = recipe.nest
    schedule_rows(recipe)
    parallelise_outer(recipe, nest, prod(loop.extent for loop in recipe.nest.loops if loop.kind == "sequential"))
