"""Constant folding: NumPy's arithmetic, small results, nothing where eager would raise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graph.evaluating import apply_rules, graph_of, ops, rewritten, tensor
from strop.graph import build
from strop.graph.ir import Node
from strop.graph.passes.fold import rules, value_of


def c(*values: float, dtype: str = "f32") -> Node:
    return build.constant(values, dtype, (len(values),))


@pytest.mark.parametrize(
    "node, value",
    [
        (build.add(build.full(0.1, "f32"), build.full(0.2, "f32")), float(np.float32(0.1) + np.float32(0.2))),
        (build.sqrt(build.full(2.0, "f64")), math.sqrt(2.0)),
        (build.expand(build.full(3, "i64"), (4, 5)), 3),
        (build.cast(build.full(2.9, "f32", (2,)), "i64"), 2),
        (build.binary("lt", build.full(1, "i64"), build.full(2, "i64")), True),
        (build.cat([build.full(1.5, "f32", (2,)), build.full(1.5, "f32", (3,))], 0), 1.5),
        (c(7.0, 7.0, 7.0), 7.0),
        (build.binary("ge", build.reshape(build.arange(200), (1, 200)), build.full(0, "i64")), True),
        (build.sub(build.full(math.inf, "f32"), build.full(math.inf, "f32")), math.nan),
    ],
)
def test_numbers(node: Node, value: float) -> None:
    (out,) = rewritten(rules, node).outputs
    assert out.op == "full" and out.type == node.type
    np.testing.assert_equal(out.attrs["value"], value)


def test_small_tables() -> None:
    (out,) = rewritten(rules, build.mul(c(1.0, 2.0), c(3.0, 4.0))).outputs
    assert out.attrs["values"] == (3.0, 8.0)
    square = build.constant((1, 2, 3, 4), "i64", (2, 2))
    (out,) = rewritten(rules, build.slice(build.permute(square, (1, 0)), 0, 1, 2)).outputs
    assert out.attrs["values"] == (2, 4)


def test_zeros_of_both_signs_are_a_table() -> None:
    assert rewritten(rules, c(0.0, -0.0)).outputs[0].op == "constant"


def test_a_range_stays_a_range() -> None:
    n = build.arange(1000)
    (out,) = rewritten(rules, build.slice(build.add(build.mul(n, 3), 5), 0, 10, 500, 2)).outputs
    assert (out.op, out.attrs["start"], out.attrs["step"]) == ("arange", 35, 6)


@pytest.mark.parametrize(
    "node",
    [
        build.binary("floordiv", build.full(1, "i64"), build.full(0, "i64")),  # raises in eager
        build.cast(build.full(1e30, "f32"), "i64"),  # no such integer
        build.cast(build.full(math.nan, "f32"), "i32"),
        build.mul(build.arange(500), build.arange(500)),  # cheaper as an expression than as a table
        build.add(tensor(3), 1.0),
    ],
)
def test_left_alone(node: Node) -> None:
    assert apply_rules(graph_of(node), rules).outputs == (node,)


def test_values_of_a_mask_are_known_without_folding_it() -> None:
    rows, columns = build.reshape(build.arange(40), (40, 1)), build.reshape(build.arange(40), (1, 40))
    mask = build.binary("ge", rows, columns)
    assert ops(rewritten(rules, mask)) == ["reshape", "reshape", "ge"]
    np.testing.assert_array_equal(value_of(mask, 1600), np.tri(40, dtype=bool))
    assert value_of(mask, 1599) is None
    assert value_of(build.binary("ge", rows, tensor(1, 40, dtype="i64")), 1600) is None
