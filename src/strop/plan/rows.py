"""Schedules of nests with several passes: softmax, norms, attention, recurrent cells, anything composed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strop.loops.ir import Load, Loop, Nest, loads
from strop.loops.primitives import Lanes, Pack, Sink, Split, Unroll, Vectorise
from strop.plan.analyse import contraction

if TYPE_CHECKING:
    from strop.plan.schedule import Recipe

QUERY_ROWS = 6  # outer points that share what inner contractions read


def schedule_rows(recipe: Recipe) -> None:
    if _vectorise_outside(recipe):
        return
    _share_between_points(recipe)
    for name in dict.fromkeys(_leaf_loops(recipe.nest)):
        _vectorise_pass(recipe, name)


def _vectorise_outside(recipe: Recipe) -> bool:
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


def _innermost(recipe: Recipe, others: list[str], name: str) -> None:
    from strop.loops.primitives import Reorder, find_loop

    owner, _ = find_loop(recipe.nest, name) or (recipe.nest, 0)
    present = [loop.name for loop in owner.loops]
    names = [n for n in others if n in present] + [name]
    if names != [n for n in present if n in names]:
        recipe.do(Reorder(recipe.name, tuple(names)))


def _share_between_points(recipe: Recipe) -> None:
    """Inner contractions that read the same for neighbouring points (keys and values of attention): several points at once."""
    nest = recipe.nest
    if not nest.loops or nest.loops[-1].kind != "parallel" or nest.loops[-1].extent < 2:
        return
    point = nest.loops[-1]
    inner = [c for item in nest.body if isinstance(item, Nest) and (c := contraction(item)) is not None and c.outputs]
    shared = [
        load
        for c in inner
        for load in c.operands
        if point.var not in load.vars and load.vars & {loop.var for loop in c.nest.loops} and load.buffer not in nest.all_scratch
    ]
    if not shared:
        return
    lanes = recipe.target.lanes("f32")
    for c in inner:
        _pack_transposed(recipe, c.nest, point, lanes)
    by = QUERY_ROWS if recipe.target.vector_registers < 32 else 2 * QUERY_ROWS
    name = point.name
    if point.extent > by:
        recipe.do(Split(recipe.name, point.name, by))
        name = f"{point.name}.i"
    recipe.do(Unroll(recipe.name, name))
    recipe.do(Sink(recipe.name, (name,)))


def _pack_transposed(recipe: Recipe, inner: Nest, point: Loop, lanes: int) -> None:
    """An operand that is contiguous along the reduction is copied once per outer iteration, contiguous along the lanes."""
    c = contraction(inner)
    assert c is not None
    along = max((loop for loop in inner.loops), key=lambda loop: loop.extent)
    position = [loop.name for loop in recipe.nest.loops].index(point.name)
    if not position or along.extent < lanes or point.extent < 4:
        return
    around = {loop.var for loop in recipe.nest.loops[:position]}
    for load in c.operands:
        stride = load.offset.coefficient(along.var)
        if stride in (0, 1) or point.var in load.vars or load.guards:
            continue
        order = tuple(loop.name for loop in c.inner.loops if loop.var in load.vars)
        if load.vars - around - {along.var} - {loop.var for loop in c.inner.loops}:
            continue
        width = min(2 * lanes, -(-along.extent // lanes) * lanes)
        pack = Pack(recipe.name, load.buffer.name, along.name, width, order, at=recipe.nest.loops[position - 1].name)
        if pack.check(recipe.nest):
            recipe.do(pack)


def _leaf_loops(nest: Nest) -> list[str]:
    """The loops along which a pass may be vectorised: the last parallel or reduce loop of each inner nest."""
    names = []
    for item in nest.body:
        if not isinstance(item, Nest):
            continue
        if any(isinstance(i, Nest) for i in item.body) and contraction(_without_unrolled(item)) is None:
            names += _leaf_loops(item)
            if item.loops and all(isinstance(i, Nest) for i in item.body):
                continue
        elif item.loops and item.loops[-1].mode == "serial":
            names.append(item.loops[-1].name)
    return names


def _without_unrolled(nest: Nest) -> Nest:
    return nest


def _vectorise_pass(recipe: Recipe, name: str) -> None:
    from strop.loops.primitives import find_loop

    owner, position = find_loop(recipe.nest, name) or (recipe.nest, 0)
    loop = owner.loops[position]
    lanes = recipe.target.lanes("f32")
    if loop.extent < 2 or loop.mode != "serial":
        return
    if loop.kind == "reduce":
        if not _mostly_contiguous(owner, loop) or loop.extent < lanes:
            return
        by = min(4 * lanes, loop.extent // lanes * lanes)
        lanes_pass = Lanes(recipe.name, name, by)
        if lanes_pass.check(recipe.nest):
            recipe.do(lanes_pass)
            recipe.do(Vectorise(recipe.name, f"{name}.l"))
        return
    if loop.kind == "sequential":
        return
    _vectorise_parallel(recipe, owner, loop, lanes)


def _vectorise_parallel(recipe: Recipe, owner: Nest, loop: Loop, lanes: int) -> None:
    if not _mostly_contiguous(owner, loop):
        return
    name = loop.name
    inner = any(isinstance(item, Nest) for item in owner.body)
    width = lanes * (2 if inner else 4)
    if loop.extent > width:
        while width > lanes and loop.extent % width:
            width -= lanes
        recipe.do(Split(recipe.name, name, width, tail="rest"))
        name = f"{name}.i"
    recipe.do(Vectorise(recipe.name, name))
    if inner:
        recipe.do(Sink(recipe.name, (name,)))


def _mostly_contiguous(nest: Nest, loop: Loop) -> bool:
    """Whether a loop steps through its reads and writes one element at a time."""
    found: list[Load] = [load for s in nest.stores for load in loads(s)]
    strides = [load.offset.coefficient(loop.var) for load in found]
    strides += [s.offset.coefficient(loop.var) for s in nest.stores]
    good = sum(stride == 1 for stride in strides)
    bad = sum(stride not in (0, 1) for stride in strides)
    return good > 0 and bad <= good // 4
