"""Other schedules near one: the same passes with other numbers, or in another order.

Whatever a schedule was made by, its passes say what could have been otherwise: how many rows are written out, how wide
a panel is, how many steps of a reduction stand side by side, which loop is outside. Each such change is checked like
any pass, ranked by a guess, and the best few by their assembly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from strop.core.cache import Cache
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.cost.model import Cost, estimate, guess
from strop.loops.ir import Nest
from strop.loops.passes.blocking import RFactor
from strop.loops.passes.modes import Unroll, Vectorise, ready
from strop.loops.passes.packing import Pack, PrefetchNext
from strop.loops.passes.primitives import Reorder, Sink, Split
from strop.schedule.builder import ScheduleBuilder
from strop.target.description import Target

MOST_ROWS, MOST_VECTORS = 14, 6
STEPS = (2, 4, 8)
MOST_COPIES = 128  # of a statement, after unrolling

Passes = tuple[Pass, ...]


@dataclass(frozen=True)
class Ranked:
    """A schedule with what it should cost."""

    cost: Cost
    recipe: ScheduleBuilder

    def __str__(self) -> str:
        return " ".join(short(one) for one in self.recipe.passes) or "as it is"


def short(one: Pass) -> str:
    """A pass without the name of its nest, where that is known."""
    return str(one).replace("{nest=k ", "{")


def ranked(source: Nest, chosen: ScheduleBuilder, count: int, cache: Cache | None = None) -> list[Ranked]:
    """The chosen schedule of a nest and the best of those near it, the cheapest first; at most `count` of them."""
    target, threads = chosen.target, chosen.threads
    found: dict[Nest, tuple[float, ScheduleBuilder]] = {chosen.nest: (0.0, chosen)}

    def add(passes: Passes) -> None:
        recipe = made(source, passes, chosen)
        if recipe is not None and recipe.nest not in found:
            found[recipe.nest] = (guess(recipe.nest, target, threads).cycles, recipe)

    for passes in _tiles(tuple(chosen.passes), chosen, target):
        add(passes)
    for _, recipe in _best(found.values(), count // 2):
        for passes in _others(tuple(recipe.passes), recipe):
            add(passes)
    costs = [Ranked(estimate(one.nest, target, threads, cache), one) for _, one in _best(found.values(), count)]
    return sorted(costs, key=lambda one: one.cost.cycles)


def _best(found: Iterable[tuple[float, ScheduleBuilder]], count: int) -> list[tuple[float, ScheduleBuilder]]:
    return sorted(found, key=lambda pair: pair[0])[:count]


def made(source: Nest, passes: Passes, like: ScheduleBuilder) -> ScheduleBuilder | None:
    """The schedule that passes make of a nest; None where one of them is refused or the whole can't be emitted."""
    recipe = ScheduleBuilder(source, like.target, like.threads, like.pack)
    try:
        for one in passes:
            if not one.check(recipe.nest):
                return None
            recipe.do(one)
    except Problem:
        return None
    return recipe if ready(recipe.nest) and _copies(recipe.nest, like.target) <= MOST_COPIES else None


def _copies(nest: Nest, target: Target) -> int:
    own = 1
    for loop in nest.loops:
        if loop.mode == "unroll":
            own *= loop.extent
        elif loop.mode == "vector":
            own *= -(-loop.extent // target.lanes("f32"))
    return own * max((_copies(item, target) for item in nest.body if isinstance(item, Nest)), default=1)


# ---- what could be otherwise -----------------------------------------------------------------------------------------


def _tiles(passes: Passes, recipe: ScheduleBuilder, target: Target) -> Iterator[Passes]:
    """Register tiles of every shape: rows that are written out by vectors."""
    lanes = target.lanes("f32")
    wide = _splits(passes, Vectorise)
    for rows in (passes, *_rows(passes, recipe)):
        yield rows
        for at in wide:
            split = rows[at]
            assert isinstance(split, Split)
            for count in range(1, MOST_VECTORS + 1):
                if count * lanes != split.by:
                    yield _wider(rows, at, count * lanes)


def _rows(passes: Passes, recipe: ScheduleBuilder) -> Iterator[Passes]:
    kinds = {loop.name: loop.kind for loop in recipe.nest.all_loops}
    for at in _splits(passes, Unroll):
        split = passes[at]
        assert isinstance(split, Split)
        if kinds.get(f"{split.loop}.i") == "parallel":
            for by in range(2, MOST_ROWS + 1):
                if by != split.by:
                    yield _with(passes, at, replace(split, by=by))


def _others(passes: Passes, recipe: ScheduleBuilder) -> Iterator[Passes]:
    """Steps of reductions, lanes of sums, orders, prefetching: one change at a time."""
    kinds = {loop.name: loop.kind for loop in recipe.nest.all_loops}
    for at in _splits(passes, Unroll):
        split = passes[at]
        assert isinstance(split, Split)
        if kinds.get(f"{split.loop}.i") == "reduce":
            yield from (_with(passes, at, replace(split, by=by, tail="rest")) for by in STEPS if by != split.by)
            written = Unroll(split.nest, f"{split.loop}.i")
            yield tuple(one for i, one in enumerate(passes) if i != at and one != written)
    lanes = recipe.target.lanes("f32")
    for at, one in enumerate(passes):
        if isinstance(one, RFactor):
            yield from (_with(passes, at, replace(one, by=n * lanes)) for n in (1, 2, 4, 8) if n * lanes != one.by)
        elif isinstance(one, Sink) and len(one.loops) == 2:
            yield _with(passes, at, replace(one, loops=one.loops[::-1]))
        elif isinstance(one, Reorder):
            for i in range(len(one.order) - 1):
                order = (*one.order[:i], one.order[i + 1], one.order[i], *one.order[i + 2 :])
                yield _with(passes, at, replace(one, order=order))
        elif isinstance(one, PrefetchNext):
            yield passes[:at] + passes[at + 1 :]


def _splits(passes: Passes, then: type[Unroll] | type[Vectorise]) -> list[int]:
    """Where loops are split whose inner part is then written out, or becomes lanes."""
    inner = {one.loop for one in passes if isinstance(one, then)}
    return [i for i, one in enumerate(passes) if isinstance(one, Split) and f"{one.loop}.i" in inner]


def _wider(passes: Passes, at: int, width: int) -> Passes:
    """A panel of another width; operands that are packed for it are packed alike."""
    split = passes[at]
    assert isinstance(split, Split)

    def widened(i: int, one: Pass) -> Pass:
        if isinstance(one, Split) and i == at:
            return replace(one, by=width)
        if isinstance(one, Pack) and one.along == split.loop and one.by == split.by:
            return replace(one, by=width)
        return one

    return tuple(widened(i, one) for i, one in enumerate(passes))


def _with(passes: Passes, at: int, one: Pass) -> Passes:
    return (*passes[:at], one, *passes[at + 1 :])
