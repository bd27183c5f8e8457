"""Other schedules near one: the same passes with other numbers, or in another order.

Whatever a schedule was made by, its passes say what could have been otherwise: how many rows are written out, how wide
a panel is, how many steps of a reduction stand side by side, which loop is outside. The other numbers are those that
the `space` of each pass lists for the nest that it was applied to. Each change is checked like any pass, ranked by a
guess, and the best few by their assembly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from strop.core.cache import Cache
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.cost.model import Cost, estimate, guess
from strop.loops.ir import Nest
from strop.loops.passes.blocking import RFactor
from strop.loops.passes.loop_modes import Unroll, Vectorise, ready
from strop.loops.passes.packing import Pack, PrefetchNext
from strop.loops.passes.primitives import Reorder, Sink, Split
from strop.loops.passes.targeted import TargetedNest
from strop.schedule.builder import ScheduleBuilder
from strop.target.description import Target

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

    for passes in _tiles(source, chosen):
        add(passes)
    for _, recipe in _best(found.values(), count // 2):
        for passes in _others(tuple(recipe.passes), _nests(source, tuple(recipe.passes), recipe)):
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
    return recipe if ready(recipe.nest) and copies(recipe.nest, like.target) <= MOST_COPIES else None


def copies(nest: Nest, target: Target) -> int:
    """How often the most repeated statement of a nest is written out."""
    own = 1
    for loop in nest.loops:
        if loop.mode == "unroll":
            own *= loop.extent
        elif loop.mode == "vector":
            own *= -(-loop.extent // target.lanes("f32"))
    return own * max((copies(item, target) for item in nest.body if isinstance(item, Nest)), default=1)


# ---- what could be otherwise -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NearSchedule:
    """A schedule that differs from another one in a single decision."""

    passes: Passes
    old: Pass
    new: Pass | None  # None: the old one is left out


def near(source: Nest, recipe: ScheduleBuilder) -> Iterator[NearSchedule]:
    """Every schedule that differs in one decision from the one that a nest has."""
    passes = tuple(recipe.passes)
    nests = _nests(source, passes, recipe)
    found = list(_rows(passes, nests))
    for at in _splits(passes, Vectorise):
        found += _widths(passes, at, nests)
    found += _others(passes, nests)
    for other in found:
        if len(other) < len(passes):
            yield NearSchedule(other, next(one for one in passes if one not in other), None)
            continue
        changed = [(old, new) for old, new in zip(passes, other) if old != new]
        decision = next((pair for pair in changed if isinstance(pair[0], Split)), changed[0])  # packing goes with it
        yield NearSchedule(other, *decision)


def _nests(source: Nest, passes: Passes, recipe: ScheduleBuilder) -> list[TargetedNest]:
    """The nest before each pass of its schedule, and after the last."""
    found, lanes = [source], recipe.target.lanes("f32")
    for one in passes:
        found.append(one.apply(found[-1]))
    return [TargetedNest(nest, lanes, recipe.threads) for nest in found]


def _tiles(source: Nest, recipe: ScheduleBuilder) -> Iterator[Passes]:
    """Register tiles of every shape: rows that are written out by vectors."""
    passes = tuple(recipe.passes)
    nests = _nests(source, passes, recipe)
    wide = _splits(passes, Vectorise)
    for rows in (passes, *_rows(passes, nests)):
        yield rows
        for at in wide:
            yield from _widths(rows, at, nests)


def _rows(passes: Passes, nests: Sequence[TargetedNest]) -> Iterator[Passes]:
    for at in _splits(passes, Unroll):
        for split in _elsewhere(passes, at, nests):
            if split.tail == "balanced":
                yield _with(passes, at, replace(passes[at], by=split.by))  # type: ignore[call-arg]


def _widths(passes: Passes, at: int, nests: Sequence[TargetedNest]) -> Iterator[Passes]:
    for split in _elsewhere(passes, at, nests):
        if split.tail == "rest":
            yield _wider(passes, at, split.by)


def _elsewhere(passes: Passes, at: int, nests: Sequence[TargetedNest]) -> list[Split]:
    """The other sizes that a loop could be split into."""
    split = passes[at]
    assert isinstance(split, Split)
    return [one for one in Split.space(nests[at]) if one.loop == split.loop and one.by != split.by]


def _others(passes: Passes, nests: Sequence[TargetedNest]) -> Iterator[Passes]:
    """Steps of reductions, lanes of sums, orders, prefetching: one change at a time."""
    kinds = {loop.name: loop.kind for loop in nests[-1].nest.all_loops}
    for at in _splits(passes, Unroll):
        split = passes[at]
        assert isinstance(split, Split)
        if kinds.get(f"{split.loop}.i") == "reduce":
            yield from (_with(passes, at, one) for one in _elsewhere(passes, at, nests))
            written = Unroll(split.nest, f"{split.loop}.i")
            yield tuple(one for i, one in enumerate(passes) if i != at and one != written)
    for at, one in enumerate(passes):
        if isinstance(one, RFactor):
            lanes = (other for other in RFactor.space(nests[at]) if other.loop == one.loop and other != one)
            yield from (_with(passes, at, other) for other in lanes)
        elif isinstance(one, Sink):
            sinks = (other for other in Sink.space(nests[at]) if sorted(other.loops) == sorted(one.loops))
            yield from (_with(passes, at, replace(one, loops=s.loops)) for s in sinks if s.loops != one.loops)
        elif isinstance(one, Reorder):
            for inner, outer in (swap.order for swap in Reorder.space(nests[at + 1])):
                if {inner, outer} <= set(one.order):
                    swapped = {inner: outer, outer: inner}
                    order = tuple(swapped.get(name, name) for name in one.order)
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
