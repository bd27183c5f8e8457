"""A schedule in the making: the passes of one nest in order, and what every kind of schedule does with loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from strop.core.passes import Pass
from strop.loops.analysis import fusable, work
from strop.loops.index import Index
from strop.loops.ir import Loop, Nest
from strop.loops.passes.packing import Pack
from strop.loops.passes.primitives import Fuse, Reorder, find_loop
from strop.loops.volume import volume
from strop.target.description import Target

PARALLEL_EFFORT = 60_000  # weighted operations, or bytes, from which sharing among threads pays


@dataclass
class ScheduleBuilder:
    """The schedule of one nest: passes in order, and nests that fill packed operands."""

    nest: Nest
    target: Target
    threads: int
    pack: bool
    passes: list[Pass] = field(default_factory=list)
    copies: list[Nest] = field(default_factory=list)
    focus: tuple[str, ...] = ()  # loops of the inner nest that is being scheduled; none: the whole nest

    @property
    def at(self) -> Nest:
        """The nest being scheduled."""
        for name in self.focus:
            found = find_loop(self.nest, name)
            if found is not None:
                return found[0]
        return self.nest

    def do(self, one: Pass) -> None:
        made = one(self.nest)
        if isinstance(one, Pack) and not one.at:
            self.copies.append(one.copy(self.nest))
        self.nest = made
        self.passes.append(one)

    @property
    def name(self) -> str:
        return self.nest.name

    def order(self, *names: str) -> None:
        present = [loop.name for loop in self.at.loops]
        if list(names) != [n for n in present if n in names]:
            self.do(Reorder(self.name, names))


def by_stride(loops: Sequence[Loop], offset: Index) -> list[Loop]:
    """Loops that run once outermost, whatever they step over; then from the largest step to the smallest."""

    def step(loop: Loop) -> tuple[bool, int]:
        found = offset.coefficient(loop.var)
        return loop.extent == 1, abs(found) if found is not None else 1

    return sorted(loops, key=step, reverse=True)


def fuse_all(recipe: ScheduleBuilder) -> None:
    position = len(recipe.at.loops) - 2
    while position >= 0:
        outer, inner = recipe.at.loops[position : position + 2]
        if fusable(recipe.at, outer, inner):
            recipe.do(Fuse(recipe.name, outer.name, inner.name))
        position -= 1


def effort(nest: Nest) -> float:
    """What a nest costs, as far as it decides whether threads share it: its weighted operations, or the bytes that it
    moves where these are more. A copy has hardly any operations, and takes a cycle for every few bytes."""
    return max(work(nest), sum(volume(nest)))


def balance(count: int, threads: int) -> float:
    """The share of the threads' time that is used where they divide some steps."""
    return count / (-(-count // threads) * threads)
