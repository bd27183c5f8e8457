"""Which logits exist in blocks. Planned for znver4."""

from dataclasses import replace

import pytest

from strop.core.journal import Journal
from strop.core.options import Memory
from strop.core.passes import Pass
from strop.graph.ir import Graph, Node, Type
from strop.graph.joint import JointGraph, LinearLoss, LossBlocks
from strop.schedule.choose_loss_blocks import of_losses, plan_losses
from strop.target.description import Target

WORDS = 50_000
GRADIENTS = ("x", "weight")
ZEN4 = Target.find("znver4")


def joint(rows: int, width: int = 768, words: int = WORDS) -> JointGraph:
    """A step of one product, with a loss; it keeps the logits."""
    x = Node("input", (), {"index": 0}, (Type("f32", (rows, width)),), "x")
    weight = Node("input", (), {"index": 1}, (Type("f32", (words, width)),), "weight")
    tangent = Node("input", (), {"index": 2}, (Type("f32", (rows, words)),), "tangent")
    logits = Node("linear", (x, weight), {}, (Type("f32", (rows, words)),), "head")
    gradient = Node("mul", (tangent, logits), {}, (Type("f32", (rows, words)),), "gradient")
    losses = {"head": LinearLoss(rows, width, words, 4, GRADIENTS)}
    return replace(
        JointGraph.of(Graph((x, weight, tangent), (), (logits, gradient)), 1, 1, frozenset(("head",))), losses=losses
    )


def chosen(given: JointGraph, memory: Memory, *edits: str) -> tuple[LossBlocks | None, str]:
    journal = Journal()
    made, _ = plan_losses(given, ZEN4, memory, journal, list(map(Pass.parse, edits)))
    return made.blocks.get("head"), " ".join(event.message for event in journal.events)


def test_many_rows_are_taken_in_blocks_that_cost_nothing() -> None:
    blocks, told = chosen(joint(8192), "fastest")
    assert blocks is not None and 768 < blocks.rows < 8192 and blocks.gradients == "forward"
    assert "rows of logits exist at a time" in told


def test_balanced_takes_smaller_blocks_than_fastest() -> None:
    small, large = (chosen(joint(8192), memory)[0] for memory in ("balanced", "fastest"))
    assert small is not None and large is not None and small.rows < large.rows


@pytest.mark.parametrize(
    ("rows", "width", "words", "memory", "why"),
    [
        (64, 64, 100, "balanced", "the cache holds all logits"),
        (100, 768, WORDS, "balanced", "there are 100 rows"),
    ],
)
def test_logits_are_left_whole_for_a_reason(rows: int, width: int, words: int, memory: Memory, why: str) -> None:
    blocks, told = chosen(joint(rows, width, words), memory)
    assert blocks is None and why in told


def test_a_budget_below_the_logits_keeps_the_gradient_of_the_weight_or_computes_the_logits_again() -> None:
    given = joint(8192)
    kept = 8192 * WORDS * 4
    assert chosen(given, kept)[0] == chosen(given, "fastest")[0]
    assert chosen(given, kept // 2)[0].gradients == "forward"  # type: ignore[union-attr]
    assert chosen(given, kept // 100)[0].gradients == "backward"  # type: ignore[union-attr]


def test_passes_by_hand_come_after_those_that_are_chosen() -> None:
    assert chosen(joint(8192), "fastest", "wholeloss{value=head}")[0] is None
    assert chosen(joint(64), "fastest", "blockloss{value=head rows=7}")[0] == LossBlocks(7)


def test_what_would_be_chosen_anyway_may_be_said_by_hand() -> None:
    blocks = chosen(joint(8192), "fastest")[0]
    assert blocks is not None
    assert chosen(joint(8192), "fastest", f"blockloss{{value=head rows={blocks.rows}}}")[0] == blocks


def test_passes_on_losses_are_told_from_those_on_what_is_kept() -> None:
    both = Pass.parse_all("keep{value=a} blockloss{value=b rows=2}")
    assert [list(map(str, part)) for part in of_losses(both)] == [
        ["blockloss{value=b rows=2}"], ["keep{value=a}"],
    ]  # fmt: skip
