"""Where tensors lie."""

from __future__ import annotations

from strop.loops.ir import Buffer
from strop.plan.memory import plan_memory


def test_tensors_that_never_live_at_once_share_bytes():
    passing, next_ = Buffer("p", "f32", (500,), "packed"), Buffer("n", "f32", (1000,), "packed")
    arena = plan_memory([[passing], [next_]], "packed")
    assert arena.offsets[passing] == arena.offsets[next_] == 0 and arena.bytes < arena.unshared


def test_tensors_that_live_at_once_do_not():
    first, second = Buffer("f", "f32", (500,)), Buffer("s", "f32", (1000,))
    arena = plan_memory([[first, second]])
    assert arena.bytes == arena.unshared


def test_other_spaces_are_left_out():
    mine, other = Buffer("m", "f32", (500,), "packed"), Buffer("o", "f32", (1000,), "param")
    assert list(plan_memory([[mine, other]], "packed").offsets) == [mine]
