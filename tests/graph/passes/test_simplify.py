"""The whole of level 1: stable names, idempotence, readable results, checks between steps."""

from __future__ import annotations

import pytest
from golden import golden
from hypothesis import given
from hypothesis import strategies as st

from graph.evaluating import check_same, graph_of, tensor, weight
from strop.core.journal import Journal
from strop.core.problem import Problem
from strop.graph import build
from strop.graph.ir import Graph, Node, Origin
from strop.graph.passes.rewrites import GraphPass, Name
from strop.graph.passes.simplify import simplify, transformed


def _at(node: Node, module: str, line: int) -> Node:
    place = Node("", origin=Origin("net.py", line, module))
    return build.make(node.op, node.inputs, node.attrs, types=node.types, like=place)


def _block() -> Graph:
    image = tensor(1, 3, 8, 8)
    conv = _at(build.conv(image, weight(16, 3, 3, 3, key="conv.weight"), padding=1), "conv", 12)
    stats = [weight(16, key=f"bn.{k}") for k in ("running_mean", "running_var", "weight", "bias")]
    norm = _at(build.batch_norm(conv, *stats), "bn", 13)
    act = _at(build.maximum(norm, 0.0), "act", 14)
    pooled = _at(build.reshape(build.reduce("mean", act, (2, 3), True), (1, 16)), "", 15)
    return graph_of(
        _at(build.linear(pooled, weight(10, 16, key="head.weight"), weight(10, key="head.bias")), "head", 16)
    )


def test_a_block_reads_like_this() -> None:
    before = _block()
    after = simplify(before)
    check_same(before, after)
    golden("graph/block", str(after))


def test_names_are_unique_and_come_from_modules() -> None:
    after = simplify(_block())
    names = [n.name for n in after.nodes]
    assert len(set(names)) == len(names)
    assert {"conv.conv", "act.relu", "head.linear"} <= set(names)


def test_naming_does_not_collide_with_params() -> None:
    w = weight(3, key="add")
    graph = Name()(graph_of(build.add(build.add(tensor(3), w), w)))
    assert [n.name for n in graph.nodes] == ["x0", "add", "add_2", "add_3"]


def test_the_journal_tells_what_was_done() -> None:
    journal = Journal()
    simplify(_block(), journal)
    told = {(e.subject, e.message) for e in journal.of("rewrite")}
    assert ("bn.batch_norm", "batch norm into the weights before it") in told
    assert ("act.maximum", "max(x, 0) → relu") in told


def test_a_refusal_is_told_once() -> None:
    conv = build.conv(tensor(1, 3, 8, 8), weight(4, 3, 1, 1))
    norm = build.batch_norm(conv, weight(4, key="m"), weight(4, key="v"))
    journal = Journal()
    simplify(graph_of(norm, conv), journal)
    refused = [e for e in journal.of("refusal") if "batch norm" in e.message]
    assert len(refused) == 1
    assert refused[0].subject == "batch_norm"


class Break(GraphPass, abstract=True):
    def changed(self, graph: Graph, journal: object) -> Graph:
        a = tensor(3)
        return Graph((a,), (), (Node("relu", (a,), {}, (), "act"),))


def test_a_pass_that_breaks_the_graph_is_named() -> None:
    with pytest.raises(Problem, match=r"after `break\{\}`"):
        transformed(graph_of(tensor(3)), Break(), check=True)


UNARY = ("neg", "abs", "exp", "relu", "sigmoid", "tanh", "floor")
BINARY = ("add", "sub", "mul", "maximum", "minimum")
NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Random graphs over a few values of shapes that broadcast, with the constants that rules look for."""
    rows, columns = draw(st.sampled_from([(1, 1), (2, 3), (1, 4), (5, 1), (0, 3)]))
    values = [tensor(rows, columns), weight(columns), tensor(rows, columns, index=1)]
    for _ in range(draw(st.integers(1, 12))):
        a = draw(st.sampled_from(values))
        kind = draw(st.integers(0, 5))
        if kind == 0:
            made = build.unary(draw(st.sampled_from(UNARY)), a)
        elif kind == 1:
            made = build.binary(draw(st.sampled_from(BINARY)), a, draw(st.sampled_from(NUMBERS)))
        elif kind == 2:
            same = [v for v in values if len(v.shape) == len(a.shape) and v.shape == a.shape]
            made = build.binary(draw(st.sampled_from(BINARY)), a, draw(st.sampled_from(same)))
        elif kind == 3:
            made = build.permute(a, tuple(reversed(range(len(a.shape)))))
        elif kind == 4:
            made = build.reshape(build.reshape(a, (a.type.size,)), (*a.shape[::-1],))
        else:
            made = build.pow(build.unary("abs", a), draw(st.sampled_from((0.5, 1.0, 2.0, 3.0))))
        values.append(made)
    return graph_of(*draw(st.lists(st.sampled_from(values), min_size=1, max_size=3)))


@given(graphs())
def test_simplifying_keeps_values_and_is_idempotent(before: Graph) -> None:
    once = simplify(before)
    check_same(before, once)
    twice = simplify(once)
    assert str(twice) == str(once)
    assert twice.key == once.key
