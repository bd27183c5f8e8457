"""Joint graphs: two halves with what is kept between them, and the passes that change that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.graph.ir import Graph, Node, Type
from strop.graph.joint import JointGraph, verify
from strop.graph.passes.partition import Keep, Recompute

F32 = Type("f32", (4, 8))


def node(op: str, *inputs: Node, name: str = "", **attrs: object) -> Node:
    return Node(op, inputs, attrs, (F32,), name or op)


def squares() -> JointGraph:
    """y = exp(x)·tanh(exp(x)): backward reads exp(x) and tanh(exp(x))."""
    x, tangent = node("input", name="x", index=0), node("input", name="tangent", index=1)
    exp = node("exp", x)
    tanh = node("tanh", exp)
    result = node("mul", exp, tanh, name="result")
    gradient = node("mul", node("mul", tangent, tanh, name="part"), exp, name="gradient")
    graph = Graph((x, tangent), (), (result, gradient))
    return JointGraph.of(graph, 1, 1, frozenset(("exp", "tanh", "result")))


def names(nodes: tuple[Node, ...]) -> list[str]:
    return [node.name for node in nodes]


def test_what_backward_reads_is_kept_unless_told() -> None:
    joint = squares()
    assert joint.kept == {"exp", "tanh"} and joint.kept_bytes == 2 * F32.bytes
    assert names(joint.forward.outputs) == ["result", "exp", "tanh"]
    assert names(joint.backward.inputs) == ["x", "exp", "tanh", "tangent"]
    verify(joint)


def test_what_is_not_kept_is_computed_again() -> None:
    joint = Pass.parse("recompute{value=tanh}")(squares())
    assert names(joint.handed_over) == ["exp"] and names(joint.computed_again) == ["tanh"]
    assert [n.op for n in joint.backward.nodes if n.name == "tanh"] == ["tanh"]
    joint = Recompute("exp")(joint)
    assert not joint.handed_over and names(joint.computed_again) == ["exp", "tanh"]
    assert names(Keep("exp")(joint).handed_over) == ["exp"]
    verify(joint)


def test_it_prints_both_halves_and_what_is_kept() -> None:
    text = str(Recompute("tanh")(squares()))
    assert "keep %exp: f32[4,8]    # 128 bytes" in text and "recompute %tanh" in text
    assert text.index("forward:") < text.index("keep ") < text.index("backward:")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("keep{value=tan}", "no value `tan`; near it: tan"),
        ("keep{value=x}", "both halves have"),
        ("keep{value=part}", "depends on a tangent"),
        ("keep{value=exp}", "kept already"),
        ("keep{value=result}", "does not need it"),
        ("recompute{value=result}", "is not kept"),
    ],
)
def test_a_refusal_has_its_reason(text: str, why: str) -> None:
    verdict = Pass.parse(text).check(squares())
    assert not verdict and why in verdict.why


def test_random_draws_are_never_computed_again() -> None:
    joint = replace(squares(), drawn=frozenset(("exp",)))
    assert "drawn once" in Recompute("exp").check(joint).why
    assert Recompute("tanh").check(joint)
    with pytest.raises(Problem, match="drawn once"):
        verify(joint.recomputing("exp"), "a step")


def test_nothing_is_computed_from_an_input_that_forward_writes_to() -> None:
    joint = replace(squares(), written=frozenset(("x",)))
    assert "writes to `x`" in Recompute("exp").check(joint).why


def test_a_part_of_an_operator_cannot_be_kept() -> None:
    joint = replace(squares(), keepable=frozenset(("exp",)), kept=frozenset(("exp",)))
    assert "part of an operator" in Keep("tanh").check(joint).why


def test_spaces_list_what_may_be_changed() -> None:
    joint = squares()
    assert [str(one) for one in Recompute.space(joint)] == ["recompute{value=exp}", "recompute{value=tanh}"]
    assert [str(one) for one in Keep.space(Recompute("tanh")(joint))] == ["keep{value=tanh}"]
