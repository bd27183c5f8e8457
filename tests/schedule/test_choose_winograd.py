"""Which algorithm computes an operator."""

from __future__ import annotations

from strop.graph import build
from strop.graph.ir import Node
from strop.schedule.choose_winograd import choose_winograd
from strop.target.description import MB, Target

ZEN3 = Target.find("znver3")


def conv3x3(channels: int, groups: int, size: int) -> Node:
    x = build.input(0, "f32", (1, channels, size, size), "x")
    weight = build.param("w", "f32", (channels, channels // groups, 3, 3))
    return build.conv(x, weight, padding=1, groups=groups)


def test_winograd_pays_for_weights_that_come_from_memory():
    few_pixels = conv3x3(1024, 32, 7)
    assert choose_winograd(few_pixels, ZEN3, 1, all_weights=2 * MB) is not None
    assert choose_winograd(few_pixels, ZEN3, 1, all_weights=100 * MB) is None


def test_winograd_stays_where_many_pixels_share_its_weights():
    assert choose_winograd(conv3x3(64, 1, 56), ZEN3, 1, all_weights=100 * MB) is not None
