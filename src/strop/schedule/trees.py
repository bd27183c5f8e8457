"""Walks that end early, several side by side: ways down decision trees."""

from __future__ import annotations

from strop.loops.ir import Nest
from strop.loops.passes.loop_modes import Unroll
from strop.schedule.builder import ScheduleBuilder


def schedule_trees(recipe: ScheduleBuilder) -> None:
    """The steps of all ways are written out, so that one reads while others wait; nothing becomes a vector.

    Gathering eight elements into a vector takes longer than reading and comparing them one by one.
    """
    inside = [loop for item in recipe.nest.body if isinstance(item, Nest) for loop in item.all_loops]
    for name in dict.fromkeys(loop.name for loop in inside if loop.kind == "parallel"):
        recipe.do(Unroll(recipe.name, name))
