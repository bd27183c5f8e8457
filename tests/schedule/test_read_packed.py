"""Reads of a parameter through its packed copy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from strop.loops.calls import Call
from strop.loops.index import Index, Var, index_of
from strop.loops.ir import Buffer, Guard, Load, Loop, Nest, Store
from strop.schedule.read_packed import _places, reading_packed, worth_reading_packed

WEIGHT = Buffer("w", "f32", (10, 6), "param")


def packing(*, guard: int = 10, first: int = 0, dtype: str = "f32", rows: int = 3) -> Nest:
    """p[n÷4, k, n mod 4] = w[n, k], with zeros past the end."""
    block, k, lane = Var("n.block", rows), Var("k", 6), Var("n.lane", 4)
    packed = Buffer("p", dtype, (rows, 6, 4), "packed")
    n = index_of(block) * 4 + index_of(lane) + first
    read = Load(WEIGHT, (n, index_of(k)), (Guard(n, guard),))
    store = Store(packed, (index_of(block), index_of(k), index_of(lane)), read)
    return Nest(tuple(map(Loop, (block, k, lane))), (store,), (), "p.pack")


def reading(rows: int, columns: int = 6) -> Nest:
    row, column = Var("i", rows), Var("j", columns)
    store = Store(Buffer("y", "f32", (rows, columns)), (index_of(row), index_of(column)),
                  Load(WEIGHT, (index_of(row), index_of(column))))  # fmt: skip
    return Nest((Loop(row), Loop(column)), (store,), (), "rows")


def call(nest: Nest) -> Call:
    return Call(nest.name, nest, {b: b for b in (*nest.reads, *nest.writes)}, nest)


def test_every_element_is_found_where_it_was_put():
    weight = np.arange(60.0).reshape(10, 6)
    padded = np.zeros((12, 6))
    padded[:10] = weight
    packed = padded.reshape(3, 4, 6).transpose(0, 2, 1)
    places = _places(packing(), WEIGHT)
    assert places is not None
    for n, k in itertools.product(range(10), range(6)):
        found = tuple(part.const for part in places((Index(const=n), Index(const=k))))
        assert packed[found] == weight[n, k]


@pytest.mark.parametrize(
    "partial", [{"guard": 9}, {"first": 1}, {"dtype": "f16"}, {"rows": 2}], ids=lambda given: next(iter(given))
)
def test_what_is_no_copy_of_everything_does_not_stand_in(partial):
    assert _places(packing(**partial), WEIGHT) is None


def test_a_nest_that_reads_few_elements_reads_the_copy():
    few = call(reading(1))
    assert worth_reading_packed([few], [call(packing())]) == [few]
    assert [b.name for b in reading_packed(reading(1), [call(packing())]).reads] == ["p"]


def test_one_that_reads_many_keeps_the_parameter_for_everybody():
    assert not worth_reading_packed([call(reading(1)), call(reading(5))], [call(packing())])
