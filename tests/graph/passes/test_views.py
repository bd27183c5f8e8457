"""Views compose, and reshapes of batch dimensions sink out of the way."""

from __future__ import annotations

import pytest

from graph.evaluating import apply_rules, graph_of, ops, rewritten, tensor, weight
from strop.graph import build
from strop.graph.ir import Node, Type
from strop.graph.passes.views import rules

x = tensor(2, 3, 4)


def _pad(node: Node, *pads: tuple[int, int]) -> Node:
    return build.make("pad", (node,), {"pads": pads, "mode": "constant", "value": 0.0})


@pytest.mark.parametrize(
    "node, left",
    [
        (build.reshape(build.reshape(x, (6, 4)), (2, 3, 4)), []),
        (build.reshape(build.reshape(x, (6, 4)), (24,)), ["reshape"]),
        (build.permute(build.permute(x, (1, 2, 0)), (2, 0, 1)), []),
        (build.permute(build.permute(x, (1, 2, 0)), (1, 2, 0)), ["permute"]),
        (build.permute(tensor(1, 3, 1, 4), (2, 1, 0, 3)), []),
        (build.permute(tensor(1, 3, 1, 4), (1, 0, 2, 3)), ["reshape"]),
        (build.expand(build.expand(tensor(1, 4), (3, 4)), (2, 3, 4)), ["expand"]),
        (build.make("expand", (x,), types=(Type("f32", (2, 3, 4)),)), []),
        (build.slice(x, 1, 0, 3), []),
        (build.slice(build.slice(x, 2, 1, 4), 2, 1, 3), ["slice"]),
        (build.slice(build.slice(tensor(20), 0, 1, 20, 3), 0, 1, 6, 2), ["slice"]),
        (build.slice(build.cat([x, build.exp(x)], 1), 1, 3, 6), ["exp"]),
        (_pad(x, (0, 0), (0, 0), (0, 0)), []),
        (build.make("flip", (build.make("flip", (x,), {"dims": (0, 1)}),), {"dims": (0, 1)}), []),
        (build.add(x, build.expand(weight(4), (2, 3, 4))), ["add"]),
        (build.reduce("sum", tensor(2, 1, 3), (1,)), ["reshape"]),
        (build.make("adaptive_avg_pool", (tensor(2, 3, 5, 5),), types=(Type("f32", (2, 3, 1, 1)),)), ["mean"]),
        (build.make("embedding", (weight(9, 4), build.reshape(build.arange(5, start=2), (1, 5)))),
         ["slice", "reshape"]),
        (build.make("index", (x, build.full(0, "i64", (1, 1)), build.reshape(build.arange(3), (1, 3))),
                    {"dims": (0, 1)}), ["slice"]),
    ],
)  # fmt: skip
def test_simpler(node: Node, left: list[str]) -> None:
    assert ops(rewritten(rules, node)) == left


@pytest.mark.parametrize(
    "node",
    [
        build.permute(x, (0, 2, 1)),
        build.reshape(build.permute(x, (0, 2, 1)), (2, 12)),
        build.slice(build.slice(x, 1, 0, 2), 2, 0, 2),
        build.slice(build.cat([x, build.exp(x)], 1), 1, 2, 5),
        build.make("embedding", (weight(9, 4), build.arange(5, start=0, step=2))),
        build.matmul(build.expand(tensor(3, 1), (3, 4)), weight(4, 5)),
        build.relu(build.permute(x, (0, 2, 1))),
    ],
)
def test_left_alone(node: Node) -> None:
    assert rewritten(rules, node).outputs == (node,)


def test_a_row_index_out_of_range_stays_an_error_at_run_time() -> None:
    node = build.make("embedding", (weight(4, 4), build.arange(5)))
    assert apply_rules(graph_of(node), rules).outputs == (node,)


def test_a_batched_product_between_views_is_one_matmul() -> None:
    a, b = tensor(2, 3, 4, 5), tensor(2, 3, 5, 6, index=1)
    flat = build.matmul(build.reshape(a, (6, 4, 5)), build.reshape(b, (6, 5, 6)))
    assert ops(rewritten(rules, build.reshape(flat, (2, 3, 4, 6)))) == ["matmul"]


def test_views_that_split_rows_stay_before_the_matmul() -> None:
    a, b = tensor(2, 3, 4, 5), tensor(6, 20, 6, index=1)
    assert ops(rewritten(rules, build.matmul(build.reshape(a, (6, 1, 20)), b))) == ["reshape", "matmul"]


def test_a_linear_between_views_is_one_linear() -> None:
    flat = build.linear(build.reshape(x, (6, 4)), weight(7, 4))
    biased = build.relu(build.add(flat, weight(7, key="b")))
    assert ops(rewritten(rules, build.reshape(biased, (2, 3, 7)))) == ["linear", "add", "relu"]


def test_rows_are_worked_on_before_the_reshape() -> None:
    rows = build.softmax(build.reshape(x, (6, 4)), 1)
    assert ops(rewritten(rules, build.reshape(rows, (2, 3, 4)))) == ["softmax"]
    assert ops(rewritten(rules, build.softmax(build.reshape(x, (6, 4)), 0))) == ["reshape", "softmax"]


def test_a_linear_takes_the_shape_that_its_result_needs() -> None:
    heads = build.permute(tensor(1, 2, 3, 4), (0, 2, 1, 3))
    out = build.reshape(build.linear(build.reshape(heads, (3, 8)), weight(5, 8)), (1, 3, 5))
    assert ops(rewritten(rules, out)) == ["permute", "reshape", "linear"]
