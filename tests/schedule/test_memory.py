"""Where tensors lie."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strop.loops.calls import Call
from strop.loops.index import Var, index_of
from strop.loops.ir import Apply, Buffer, Const, Guard, Load, Loop, Nest, Store
from strop.schedule.memory import Borders, Lifetimes, Place, arena_of, plan_memory, replaceable, room, verify_places

A, B, C, W = (Buffer(name, "f32", (8, 8)) for name in "abcw")
ROW, COLUMN = Var("i", 8), Var("j", 8)
HERE, TURNED = (index_of(ROW), index_of(COLUMN)), (index_of(COLUMN), index_of(ROW))
BOTH = (Loop(ROW), Loop(COLUMN))


def pointwise(source=A, index=HERE, target=B, reduce=None, loops=BOTH):
    value = Apply("mul", (Load(source, index), Const(2.0, "f32")), "f32")
    return Nest(loops, (Store(target, HERE, value, reduce),), (), "twice")


def in_the_place_of(nest):
    return list(replaceable(Call(nest.name, nest, {b: b for b in (*nest.reads, *nest.writes)}, nest)))


def product(*, finished=A, operand=C, rows=ROW, guards=()):
    """b = a · (c @ w), as a sum that is finished when it is there."""
    total, step = Buffer("acc", "f32", (), "scratch"), Var("k", 8)
    term = Apply(
        "mul", (Load(operand, (index_of(rows), index_of(step))), Load(W, (index_of(step), index_of(COLUMN)))), "f32"
    )
    summed = Nest((Loop(step, "reduce"),), (Store(total, (), term, "sum"),))
    value = Apply("mul", (Load(total, ()), Load(finished, HERE)), "f32")
    body = (Store(total, (), Const(0.0, "f32")), summed, Store(B, HERE, value, guards=guards))
    return Nest(BOTH, body, (total,), "product")


def test_tensors_that_never_live_at_once_share_bytes():
    passing, next_ = Buffer("p", "f32", (500,), "packed"), Buffer("n", "f32", (1000,), "packed")
    arena = arena_of([[passing], [next_]], "packed")
    assert arena.offsets[passing] == arena.offsets[next_] == 0 and arena.bytes < arena.unshared


def test_tensors_that_live_at_once_do_not():
    first, second = Buffer("f", "f32", (500,)), Buffer("s", "f32", (1000,))
    arena = arena_of([[first, second]])
    assert arena.bytes == arena.unshared


def test_other_spaces_are_left_out():
    mine, other = Buffer("m", "f32", (500,), "packed"), Buffer("o", "f32", (1000,), "param")
    assert list(arena_of([[mine, other]], "packed").offsets) == [mine]


def test_a_place_where_something_lives_is_refused():
    first, second = Buffer("f", "f32", (500,)), Buffer("s", "f32", (1000,))
    lifetimes = Place("f", 0)(Lifetimes.of([[first, second]]))
    verdict = Place("s", 64).check(lifetimes)
    assert not verdict and "`f` lies there" in verdict.why
    assert "multiple of 64" in Place("s", 3).check(lifetimes).why
    assert "no tensor" in Place("t", 0).check(lifetimes).why


def test_the_space_of_places_is_where_each_tensor_may_lie():
    first, second = Buffer("f", "f32", (500,)), Buffer("s", "f32", (1000,))
    lifetimes = Lifetimes.of([[first], [first, second], [second]])
    placed = Place.apply_all(lifetimes, plan_memory(lifetimes))
    assert all(one.check(placed) for one in Place.space(placed))


def test_a_pointwise_nest_may_compute_in_the_place_of_what_it_reads():
    assert in_the_place_of(pointwise()) == [(B, A)]


@pytest.mark.parametrize(
    "nest",
    [
        pytest.param(pointwise(index=TURNED), id="it reads other elements than it writes"),
        pytest.param(pointwise(reduce="sum"), id="it adds to what is there"),
        pytest.param(pointwise(loops=(*BOTH, Loop(Var("again", 2)))), id="it computes an element twice"),
        pytest.param(
            pointwise(loops=(Loop(ROW), Loop(COLUMN, "sequential"))), id="its iterations depend on each other"
        ),
        pytest.param(pointwise(source=Buffer("a", "f32", (8, 9))), id="what it reads is larger"),
        pytest.param(pointwise(source=Buffer("a", "i32", (8, 8))), id="what it reads is of another type"),
    ],
)
def test_others_may_not(nest):
    assert not in_the_place_of(nest)


def test_the_last_of_several_statements_that_read_a_tensor_may_write_there():
    marks = Buffer("m", "bool", (8, 8))
    mark = Store(marks, HERE, Apply("lt", (Load(A, HERE), Const(0.0, "f32")), "bool"))
    double = pointwise().body[0]
    assert in_the_place_of(Nest(BOTH, (mark, double), (), "both")) == [(B, A)]
    assert not in_the_place_of(Nest(BOTH, (double, mark), (), "both"))


def test_a_sum_may_be_finished_in_the_place_of_what_only_that_reads():
    assert in_the_place_of(product()) == [(B, A)]
    assert not in_the_place_of(product(operand=A))
    assert not in_the_place_of(product(guards=(Guard(index_of(ROW), 7),)))


def test_a_tensor_takes_the_place_of_another_whole_or_not_at_all():
    lifetimes = replace(Lifetimes.of([[A], [A, B], [B]]), replacing={B: frozenset({A})})
    placed = Place.apply_all(lifetimes, plan_memory(lifetimes))
    assert placed.offsets["a"] == placed.offsets["b"] == 0
    verify_places(placed, "place")
    assert not Place("b", 64).check(placed)


def test_a_place_is_not_taken_where_another_tensor_is_alive():
    """`c` lies where the end of `a` was, since before `b` is computed in the place of `a`."""
    wide = Buffer("wide", "f32", (8, 8))
    lifetimes = replace(Lifetimes.of([[A], [A, B, C], [B, C], [wide, C]]), replacing={B: frozenset({A})})
    placed = Place.apply_all(lifetimes, plan_memory(lifetimes))
    verify_places(placed, "place")
    assert placed.offsets["b"] == placed.offsets["a"] != placed.offsets["c"]


def test_in_half_of_a_step_what_lives_long_may_choose_first():
    """`kept` is gone after the first step. Where `early` chooses before `long`, it lies above `kept`, and `long`, which
    could have lain there to the end, above both."""
    kept, early, long, late = (
        Buffer(n, "f32", (s,)) for n, s in zip(("kept", "early", "long", "late"), (16, 100, 100, 100))
    )
    steps = [[early], [early, long], [long], [long, late]]
    lifetimes = Lifetimes.of(steps, borders=Borders(given={kept: 0}))
    placed = Place.apply_all(lifetimes, plan_memory(lifetimes))
    verify_places(placed, "place")
    assert placed.arena.bytes == room(early) + room(long)
