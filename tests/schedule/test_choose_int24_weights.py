"""Weights of 24 bits are taken where reading them takes the time, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strop.graph.ir import Node, Type
from strop.loops.lower.int24_weights import Int24Weights
from strop.schedule.choose_int24_weights import Int24Product, choose_int24_row, choose_int24_states
from strop.target.description import Target

ZEN3, ZEN4 = Target.find("znver3"), Target.find("znver4")


def linear(rows: int, depth: int, columns: int, dtype: str = "f32", constant: bool = True) -> Node:
    x = Node("input", types=(Type(dtype, (rows, depth)),))
    weight = Node("param" if constant else "input", types=(Type(dtype, (columns, depth)),))
    return Node("linear", (x, weight), {}, (Type(dtype, (rows, columns)),))


def lstm(units: int, batch: int = 1) -> Node:
    shapes = ((9, batch, 20), (1, batch, units), (1, batch, units))
    given = [Node("input", types=(Type("f32", shape),)) for shape in shapes]
    weights = [Node("param", types=(Type("f32", shape),)) for shape in ((4 * units, 20), (4 * units, units))]
    attrs = {"batch_first": False, "bidirectional": False, "layers": 1, "has_bias": False}
    return Node("lstm", (*given, *weights), attrs, (Type("f32", (9, batch, units)),))


def test_one_row_of_a_large_matrix_is_compact() -> None:
    assert choose_int24_row(linear(1, 1280, 1000), ZEN4, 1) is not None


@pytest.mark.parametrize(
    "node",
    [linear(2, 1280, 1000), linear(1, 64, 64), linear(1, 1280, 1000, "f64"), linear(1, 1280, 1000, constant=False)],
    ids=["two rows", "in L1", "f64", "not constant"],
)
def test_others_are_not(node: Node) -> None:
    assert choose_int24_row(node, ZEN4, 1) is None


def test_states_of_a_batch_of_one_are_compact() -> None:
    assert choose_int24_states(lstm(256), ZEN4, 1) is not None
    assert choose_int24_states(lstm(256, batch=2), ZEN4, 1) is None


def test_with_few_registers_some_vectors_stay_as_they_are() -> None:
    """Making numbers takes longer there than reading from a cache; from memory it doesn't."""
    found = choose_int24_states(lstm(256), ZEN3, 1)
    assert found == Int24Weights(8, 1, 4, last=True)
    assert choose_int24_row(linear(1, 1024, 512), ZEN3, 1) == Int24Product(Int24Weights(8, 1, 4))
    assert choose_int24_row(linear(1, 8192, 4096), ZEN3, 1) == Int24Product(Int24Weights(8, 2, streams=4))


@pytest.mark.parametrize("target", [ZEN3, ZEN4], ids=["znver3", "znver4"])
def test_weights_that_no_cache_keeps_until_the_next_run_are_read_in_streams(target: Target) -> None:
    many = int(target.l3_ours) + 1

    def streams(depth: int, columns: int, weights: int) -> int:
        found = choose_int24_row(linear(1, depth, columns), target, 1, weights)
        assert found is not None
        return found.shape.streams

    assert streams(1024, 512, 0) == 1
    assert streams(1024, 512, many) == 4
    assert streams(1022, 512, many) == 2
    assert streams(1023, 512, many) == 1
    assert streams(256, 256, many) == 1  # L2 keeps these until they are used


def test_blocks_that_would_not_be_full_are_worth_less() -> None:
    assert choose_int24_states(lstm(112), ZEN3, 1) is not None
    assert choose_int24_states(lstm(100), ZEN3, 1) is None


def test_bandwidth_that_is_enough_needs_none() -> None:
    fast = replace(ZEN4, bandwidth=(64.0, 64.0, 64.0, 64.0))
    assert choose_int24_row(linear(1, 1280, 1000), fast, 1) is None


@pytest.mark.parametrize("shape", [(1, 0, 1000), (1, 1000, 0), (0, 1000, 1000)])
def test_nothing_stays_as_it_is(shape: tuple[int, int, int]) -> None:
    assert choose_int24_row(linear(*shape), ZEN4, 2) is None
