"""Bytes that are alive while backward runs, counted by hand."""

from __future__ import annotations

from strop.graph.ir import Graph, Node, Type
from strop.graph.joint import JointGraph
from strop.schedule.backward_peak import backward_peak

TYPE = Type("f32", (64, 64))


def layers(count: int) -> JointGraph:
    """Each layer multiplies by a weight and takes the tanh; backward's products read every tanh."""
    x, tangent = (Node("input", (), {"index": i}, (TYPE,), name) for i, name in ((0, "x"), (count + 1, "tangent")))
    weights = [Node("input", (), {"index": i + 1}, (TYPE,), f"w{i}") for i in range(count)]
    value, values = x, []
    for i, weight in enumerate(weights):
        value = Node("tanh", (Node("matmul", (value, weight), {}, (TYPE,), f"product{i}"),), {}, (TYPE,), f"tanh{i}")
        values.append(value)
    gradient, gradients = tangent, []
    for i in reversed(range(count)):
        gradient = Node("mul", (gradient, values[i]), {}, (TYPE,), f"late{i}")
        gradients.append(Node("matmul", (values[i - 1] if i else x, gradient), {}, (TYPE,), f"weight_gradient{i}"))
        gradient = Node("matmul", (gradient, weights[i]), {}, (TYPE,), f"gradient{i}")
    graph = Graph((x, *weights, tangent), (), (value, *reversed(gradients)))
    keepable = frozenset(node.name for node in values) | {f"product{i}" for i in range(count)}
    return JointGraph.of(graph, 1, 1, keepable)


def test_what_was_kept_goes_as_gradients_come() -> None:
    """Of six layers the six values are there at first; each goes when the gradient of a weight is there, which is as
    large, and beside them is what is handed from layer to layer."""
    assert 6 * TYPE.bytes <= backward_peak(layers(6)) <= 9 * TYPE.bytes


def test_values_that_are_computed_again_and_read_late_count() -> None:
    """Computing all of a chain again takes as much as keeping it: the first are made first and read last."""
    joint = layers(6)
    again = joint.recomputing(*(f"tanh{i}" for i in range(6)), *(f"product{i}" for i in range(6)))
    assert again.kept_bytes == 0 and backward_peak(again) >= 6 * TYPE.bytes


def test_pointwise_values_that_only_pointwise_operators_read_have_no_memory() -> None:
    joint = layers(1)
    assert backward_peak(joint) <= 4 * TYPE.bytes
