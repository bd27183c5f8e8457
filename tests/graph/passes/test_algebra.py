"""Identities: applied where they hold for every bit pattern, left alone where floats are not reals."""

from __future__ import annotations

import math

import pytest

from graph.evaluating import ops, rewritten, tensor
from strop.graph import build
from strop.graph.ir import Node
from strop.graph.passes.algebra import rules

x = tensor(2, 3)
i = tensor(2, 3, dtype="i64")
b = tensor(2, 3, dtype="bool")


@pytest.mark.parametrize(
    "node, left",
    [
        (build.mul(x, 1.0), []),
        (build.mul(i, 1), []),
        (build.div(x, 1.0), []),
        (build.sub(x, 0.0), []),
        (build.add(x, -0.0), []),
        (build.add(i, 0), []),
        (build.add(build.exp(x), 0.0), ["exp"]),
        (build.mul(i, 0), []),
        (build.sub(i, i), []),
        (build.mul(x, -1.0), ["neg"]),
        (build.neg(build.neg(x)), []),
        (build.add(x, build.neg(build.exp(x))), ["exp", "sub"]),
        (build.mul(build.mul(x, 0.5), 0.25), ["mul"]),
        (build.add(build.add(i, 3), -3), []),
        (build.div(x, 8.0), ["mul"]),
        (build.div(1.0, build.sqrt(build.exp(x))), ["exp", "rsqrt"]),
        (build.div(build.reduce("sum", x, (1,), True), 3.0), ["mean"]),
        (build.mul(build.reduce("sum", x, (0, 1)), 1 / 6), ["mean"]),
        (build.pow(x, 2.0), ["mul"]),
        (build.pow(x, 3.0), ["mul", "mul"]),
        (build.pow(build.exp(x), 0.5), ["exp", "sqrt"]),
        (build.pow(x, 0.0), []),
        (build.relu(build.relu(x)), ["relu"]),
        (build.maximum(x, 0.0), ["relu"]),
        (build.unary("not", build.unary("not", b)), []),
        (build.binary("and", b, build.full(True, "bool")), []),
        (build.where(build.full(True, "bool"), x, build.exp(x)), []),
        (build.where(b, x, x), []),
        (build.where(build.unary("not", b), x, build.exp(x)), ["exp", "where"]),
        (build.cast(build.cast(x, "f64"), "f32"), []),
        (build.cast(build.cast(i, "i32"), "i64"), ["cast", "cast"]),
        (build.cast(build.cast(b, "i64"), "f32"), ["cast"]),
    ],
)
def test_simpler(node: Node, left: list[str]) -> None:
    assert ops(rewritten(rules, node)) == left


def test_a_sum_that_is_used_by_itself_is_not_computed_again_as_a_mean() -> None:
    total = build.reduce("sum", x, (1,), True)
    assert ops(rewritten(rules, build.add(build.div(total, 3.0), total))) == ["sum", "div", "add"]


@pytest.mark.parametrize(
    "node",
    [
        build.add(x, 0.0),  # -0.0 + 0.0 is 0.0
        build.mul(x, 0.0),  # NaN · 0 is NaN
        build.sub(x, x),  # ∞ − ∞ is NaN
        build.sub(0.0, x),  # 0 − 0 is 0, not -0
        build.div(x, 3.0),  # 1/3 is not exact
        build.div(x, math.ldexp(1.0, -130)),  # the reciprocal overflows
        build.add(build.add(x, 1e8), -1e8),  # cancels
        build.mul(build.mul(x, 1e30), 1e-30),  # overflows in between
        build.div(build.reduce("sum", x, (1,), True), 7.0),  # not the number of elements
        build.cast(build.cast(x, "i64"), "f32"),  # truncates
        build.sub(1.0, x),
        build.pow(x, 2.5),
    ],
)
def test_left_alone(node: Node) -> None:
    assert rewritten(rules, node).outputs == (node,)


def test_the_result_keeps_a_broadcast_shape() -> None:
    out = rewritten(rules, build.mul(x, build.full(1.0, "f32", (4, 2, 3)))).outputs[0]
    assert (out.op, out.shape) == ("expand", (4, 2, 3))
