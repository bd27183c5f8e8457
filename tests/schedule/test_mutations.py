"""Schedules near one: each of them computes the same, the model ranks them, and the explanation says why."""

from __future__ import annotations

import numpy as np
import pytest

from schedule.test_sampling import batch, evaluate, main_nest, norm, pointwise, product, window
from strop.loops.passes.loop_modes import ready
from strop.schedule.builder import ScheduleBuilder
from strop.schedule.default import schedule
from strop.schedule.explain import nest as explain_nest
from strop.schedule.mutations import made, ranked
from strop.target.description import Target

ZEN3, ZEN4, N1 = (Target.find(name) for name in ("znver3", "znver4", "neoverse-n1"))


@pytest.mark.parametrize("graph", [
    product(13, 24, 37), window(5, 19, 7), window(8, 8, 7, 1, 8), batch(2, 7, 9, 18), norm(3, 37), pointwise(3, 7, 21),
])  # fmt: skip
def test_what_is_near_a_schedule_computes_the_same(graph):
    source = main_nest(graph)
    near = ranked(source, schedule(source, ZEN3, 1), 6)
    wanted = evaluate([source], source)
    for one in near:
        got = evaluate([*one.recipe.copies, one.recipe.nest], source)
        for a, b in zip(wanted, got):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5, err_msg=str(one))


def test_they_are_ranked_and_the_chosen_one_is_among_them():
    source = main_nest(product(48, 64, 96))
    chosen = schedule(source, ZEN3, 1)
    near = ranked(source, chosen, 8)
    cycles = [one.cost.cycles for one in near]
    assert cycles == sorted(cycles)
    assert len(near) == 8
    assert len({one.recipe.nest for one in near}) == 8
    assert chosen.nest in [one.recipe.nest for one in near]
    assert all(ready(one.recipe.nest) for one in near)


def test_a_poor_tile_is_near_a_better_one():
    """From two rows and one vector, the model finds its way to a tile that keeps the units busy."""
    source = main_nest(product(48, 64, 96))
    chosen = schedule(source, ZEN3, 1)
    poor = tuple(
        type(one)(one.nest, one.loop, 2, one.tail) if type(one).__name__ == "Split" and one.loop == "m0" else one
        for one in chosen.passes
    )
    start = made(source, poor, chosen)
    assert start is not None and start.nest != chosen.nest
    best = ranked(source, start, 8)[0]
    own = next(one for one in ranked(source, start, 8) if one.recipe.nest == start.nest)
    assert best.cost.cycles < 0.8 * own.cost.cycles


def test_a_pass_that_is_refused_makes_no_schedule():
    source = main_nest(product(13, 24, 37))
    chosen = schedule(source, ZEN3, 1)
    assert made(source, (*chosen.passes, *chosen.passes), chosen) is None
    assert made(source, (), ScheduleBuilder(source, ZEN3, 1, True)) is not None


def test_the_same_schedules_every_time():
    source = main_nest(window(8, 32, 9))
    first, second = ([str(one) for one in ranked(source, schedule(source, ZEN4, 1), 6)] for _ in range(2))
    assert first == second


@pytest.mark.parametrize("target", [ZEN3, ZEN4, N1], ids=lambda target: target.name)
def test_the_explanation_of_a_nest_shows_terms_and_runners_up(target):
    source = main_nest(product(48, 64, 96))
    text = explain_nest("fc1", source, schedule(source, target, 1), limit=2)
    first, terms, *rest = text.splitlines()
    assert first.startswith("fc1: ") and "held by" in first
    assert terms.startswith("  cycles if alone: ports")
    assert sum(line.startswith("  not ") for line in rest) == 2
    assert sum("%: " in line for line in rest) == 2
