"""Types are inferred, and a graph that contradicts itself is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graph.evaluating import graph_of, tensor, weight
from strop.core.problem import Problem
from strop.graph import build
from strop.graph.infer import MismatchError, infer
from strop.graph.ir import Graph, Node, Type
from strop.graph.operators import ALL
from strop.graph.verify import verify

x = tensor(2, 6, 9, 9)


@pytest.mark.parametrize(
    "node, shape",
    [
        (build.add(tensor(3, 1), weight(1, 4)), (3, 4)),
        (build.matmul(tensor(5, 1, 2, 3), weight(7, 3, 4)), (5, 7, 2, 4)),
        (build.linear(tensor(2, 5, 3), weight(4, 3)), (2, 5, 4)),
        (build.conv(x, weight(8, 3, 3, 3), stride=2, padding=1, groups=2), (2, 8, 5, 5)),
        (build.conv(x, weight(6, 4, 3, 3), stride=2, padding=1, output_padding=1, transposed=True), (2, 4, 18, 18)),
        (build.conv(x, weight(8, 6, 3, 3), dilation=2, padding=((1, 0), (0, 2))), (2, 8, 6, 7)),
        (build.permute(x, (0, 2, 3, 1)), (2, 9, 9, 6)),
        (build.slice(x, 2, 1, 8, 3), (2, 6, 3, 9)),
        (build.make("select", (x,), {"dim": 1, "index": 5}), (2, 9, 9)),
        (build.make("diagonal", (x,), {"offset": 2, "dim1": 2, "dim2": 3}), (2, 6, 7)),
        (build.make("unfold", (x,), {"dim": 2, "size": 3, "step": 2}), (2, 6, 4, 9, 3)),
        (build.cat([x, x], 1), (2, 12, 9, 9)),
        (build.reduce("mean", x, (2, 3), True), (2, 6, 1, 1)),
        (build.reduce("sum", x, ()), ()),
        (build.make("pad", (tensor(2, 3),), {"pads": ((0, 1), (-1, 2)), "mode": "constant", "value": 0.0}), (3, 4)),
        (build.make("index", (x, build.arange(4)), {"dims": (1,)}), (2, 4, 9, 9)),
        (build.make("embedding", (weight(10, 3), tensor(2, 5, dtype="i64"))), (2, 5, 3)),
        (build.make("argmax", (x,), {"dim": None, "keepdim": False}), ()),
        (build.attention(tensor(2, 4, 5, 8), weight(2, 4, 7, 8), weight(2, 4, 7, 3), scale=1.0), (2, 4, 5, 3)),
    ],
)
def test_shapes(node: Node, shape: tuple[int, ...]) -> None:
    assert node.shape == shape
    verify(graph_of(node))


def test_every_operator_can_be_inferred() -> None:
    for op in sorted(ALL):
        try:
            infer(op, (), {}, (Type("f32", ()),))
        except MismatchError as mismatch:
            assert "there is no operator" not in str(mismatch), op


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: build.add(tensor(3), weight(4)), "do not broadcast"),
        (lambda: build.matmul(tensor(2, 3), weight(4, 5)), "×"),
        (lambda: build.add(tensor(3), tensor(3, dtype="i64")), "dtypes"),
        (lambda: build.reshape(tensor(3), (2, 2)), "as many elements"),
        (lambda: build.permute(tensor(3, 4), (0, 0)), "do not permute"),
        (lambda: build.slice(tensor(3), 0, 1, 9), "beyond"),
        (lambda: build.make("softmax", (tensor(3),)), "needs the attribute"),
        (lambda: build.make("relux", (tensor(3),)), "no operator `relux`"),
        (lambda: build.batch_norm(x, weight(5), weight(6)), "must have the shape"),
    ],
)
def test_what_does_not_fit_is_refused(make: object, words: str) -> None:
    with pytest.raises(MismatchError, match=words):
        make()  # type: ignore[operator]


def _fails(graph: Graph, words: str) -> None:
    with pytest.raises(Problem, match=words) as caught:
        verify(graph, "fuse")
    assert caught.value.code == "STR201"
    assert "after `fuse`" in str(caught.value)


def test_a_wrong_type_is_found_and_the_step_named() -> None:
    wrong = replace(build.relu(tensor(3)), types=(Type("f32", (4,)),), name="act")
    _fails(graph_of(wrong), r"%act after `fuse`: has the type f32\[4\], its inputs make f32\[3\]")


def test_an_attribute_that_is_no_plain_value_is_found() -> None:
    _fails(graph_of(replace(build.relu(tensor(3)), attrs={"memo": [1]}, name="act")), "attribute memo is a list")


def test_an_unknown_operator_is_found() -> None:
    _fails(graph_of(Node("relux", (tensor(3),), {}, (Type("f32", (3,)),), "act")), "no operator `relux`")


def test_an_undeclared_input_is_found() -> None:
    _fails(Graph((), (), (build.relu(tensor(3)),)), "does not declare")


def test_a_mutation_of_another_type_is_found() -> None:
    a = tensor(3)
    _fails(Graph((a,), (), (a,), ((a, build.reshape(a, (3, 1))),)), "the value written to it")
