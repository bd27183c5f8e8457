"""Where tensors lie."""

from __future__ import annotations

from strop.loops.ir import Buffer
from strop.plan.memory import plan_memory


def test_what_is_kept_lies_in_the_order_of_its_use():
    small, large, middle = (
        Buffer(name, "f32", (size,), "packed") for name, size in (("s", 10), ("l", 1000), ("m", 100))
    )
    passing = Buffer("p", "f32", (500,), "packed")
    arena = plan_memory([[passing, large], [passing, small], [middle]], "packed", (middle, small, large))
    assert arena.offsets[middle] < arena.offsets[small] < arena.offsets[large]


def test_what_passes_takes_the_place_of_what_is_written_later():
    passing, kept = Buffer("p", "f32", (500,), "packed"), Buffer("k", "f32", (1000,), "packed")
    arena = plan_memory([[passing], [kept]], "packed", (kept,))
    assert arena.offsets[passing] == arena.offsets[kept] == 0 and arena.bytes < arena.unshared
