"""Passes that say how many rows of a loss's logits exist at a time."""

import pytest

from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.graph.ir import Graph, Node, Type
from strop.graph.joint import JointGraph, LinearLoss, LossBlocks
from strop.graph.passes.loss_blocks import BlockLoss, WholeLoss


def joint() -> JointGraph:
    x = Node("input", (), {"index": 0}, (Type("f32", (4,)),), "x")
    losses = {"head": LinearLoss(300, 8, 1000, 4, ("x", "weight")), "other": LinearLoss(why="others read them")}
    return JointGraph(Graph((x,), (), (x,)), 1, 0, frozenset(), losses=losses)


def test_blocks_are_taken_and_given_up() -> None:
    made = Pass.parse("blockloss{value=head rows=100}")(joint())
    assert made.blocks == {"head": LossBlocks(100)}
    made = Pass.parse("blockloss{value=head rows=100 gradients=backward}")(made)
    assert made.blocks == {"head": LossBlocks(100, "backward")}
    assert list(WholeLoss.space(made)) == [WholeLoss("head")]
    assert not WholeLoss("head")(made).blocks


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("blockloss{value=hed rows=8}", "there is head"),
        ("blockloss{value=other rows=8}", "others read them"),
        ("blockloss{value=head rows=0}", "1 to 300 rows"),
        ("blockloss{value=head rows=301}", "1 to 300 rows"),
        ("blockloss{value=head rows=8 gradients=later}", "forward or backward"),
        ("wholeloss{value=head}", "not in blocks"),
    ],
)
def test_refusals_have_reasons(text: str, why: str) -> None:
    with pytest.raises(Problem, match=why):
        Pass.parse(text)(joint())


def test_the_space_halves_the_rows() -> None:
    assert [one.rows for one in BlockLoss.space(joint()) if one.gradients == "forward"] == [150, 75, 38]
