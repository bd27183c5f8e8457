"""Where tensors lie."""

from __future__ import annotations

from strop.loops.ir import Buffer
from strop.schedule.memory import Lifetimes, Place, arena_of, plan_memory


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
