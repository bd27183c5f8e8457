"""Which rows each step of a loop touches."""

from __future__ import annotations

import pytest

from strop.loops.index import Index, Var, index_of
from strop.schedule.access_ranges import _bounds

i, j, k = Var("i", 12), Var("j", 7), Var("k", 3)
PIXEL = index_of(i) * 7 + index_of(j)


@pytest.mark.parametrize(
    "index",
    [
        PIXEL // 14,
        PIXEL % 14,
        (PIXEL + index_of(k) * 28) % 14,
        (PIXEL + 3) // 5 * -2 + index_of(k),
        PIXEL // 14 % 3 + PIXEL % 9,
        ((index_of(i) + 1) % 4) * 2 - index_of(j) // 2,
    ],
    ids=str,
)
def test_bounds_at_each_step_are_those_of_the_index_with_the_step_put_in(index: Index) -> None:
    assert _bounds(index, i) == [index.substitute({i: Index(const=step)}).bounds for step in range(i.extent)]
