"""Where Strassen's product is chosen."""

from __future__ import annotations

import pytest

from strop.graph import build
from strop.graph.ir import Node
from strop.loops.lower.strassen import strassen_applies
from strop.schedule.choose_strassen import choose_strassen
from strop.target.description import Target


def linear(rows: int, depth: int, columns: int) -> Node:
    return build.linear(build.input(0, "f32", (1, rows, depth), "x"), build.param("w", "f32", (columns, depth)))


def test_large_products_are_computed_by_halves() -> None:
    chosen = choose_strassen(linear(128, 768, 3072), Target.find("znver4"), 1)
    assert chosen is not None
    assert (3072 // 2) % chosen.block == 0


def test_small_tiles_need_long_sums() -> None:
    assert choose_strassen(linear(128, 768, 3072), Target.find("znver3"), 1) is not None
    assert choose_strassen(linear(196, 256, 1024), Target.find("znver3"), 1) is None


@pytest.mark.parametrize("shape", [(1, 768, 768), (32, 768, 768), (128, 64, 768), (128, 768, 32)])
def test_small_ones_are_not(shape: tuple[int, int, int]) -> None:
    assert choose_strassen(linear(*shape), Target.find("znver4"), 1) is None


def test_weights_that_change_at_every_call_are_not_combined() -> None:
    x, w = build.input(0, "f32", (128, 768), "x"), build.input(1, "f32", (3072, 768), "w")
    assert choose_strassen(build.linear(x, build.mul(w, 2.0)), Target.find("znver4"), 1) is None


def test_threads_get_equal_shares() -> None:
    for rows in (128, 197, 512, 784):
        chosen = choose_strassen(linear(rows, 512, 512), Target.find("znver4"), 2)
        assert chosen is not None
        strips = -(-rows // (2 * chosen.strip * chosen.rows))
        assert strips == 1 or strips % 2 == 0


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (linear(8, 7, 8), "halves the sum and the columns: 7 and 8"),
        (build.relu(build.input(0, "f32", (8, 8), "x")), "`linear` and 1×1 convolutions"),
        (
            build.conv(build.input(0, "f32", (1, 8, 8, 8), "x"), build.param("w", "f32", (8, 8, 3, 3)), padding=1),
            "1×1 taps, without groups",
        ),
    ],
)
def test_every_refusal_has_its_reason(node: Node, reason: str) -> None:
    verdict = strassen_applies(node)
    assert not verdict
    assert reason in verdict.why
