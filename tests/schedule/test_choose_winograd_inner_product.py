"""Where products of pairs are chosen."""

from __future__ import annotations

import pytest

from strop.graph import build
from strop.graph.ir import Node
from strop.loops.lower.products import sizes_of
from strop.schedule.choose_winograd_inner_product import choose_winograd_inner_product
from strop.target.description import TARGETS, Target

ZEN4 = Target.find("znver4")


def linear(rows: int, depth: int, columns: int) -> Node:
    return build.linear(build.input(0, "f32", (1, rows, depth), "x"), build.param("w", "f32", (columns, depth)))


def pointwise(size: int, depth: int, columns: int) -> Node:
    x, w = build.input(0, "f32", (1, depth, size, size), "x"), build.param("w", "f32", (columns, depth, 1, 1))
    return build.conv(x, w)


@pytest.mark.parametrize("shape", [(128, 768, 3072), (197, 384, 1152), (64, 512, 512)])
def test_large_products_are_made_of_pairs(shape: tuple[int, int, int]) -> None:
    chosen = choose_winograd_inner_product(linear(*shape), ZEN4, 1)
    assert chosen is not None and shape[2] % chosen.block == 0
    assert chosen.rows * chosen.block // 16 + 6 * chosen.block // 16 < 32


@pytest.mark.parametrize("node", [pointwise(14, 96, 576), pointwise(14, 576, 96), pointwise(7, 160, 960)])
def test_so_are_convolutions_of_one_pixel(node: Node) -> None:
    chosen = choose_winograd_inner_product(node, ZEN4, 1)
    assert chosen is not None
    assert sizes_of(node).rows % (chosen.strip * chosen.rows) == 0


@pytest.mark.parametrize("shape", [(1, 768, 768), (3136, 16, 96), (784, 192, 32), (128, 768, 1000)])
def test_where_scaling_rows_costs_more_they_are_not(shape: tuple[int, int, int]) -> None:
    assert choose_winograd_inner_product(linear(*shape), ZEN4, 1) is None


def test_large_weights_are_not_read_again_for_every_strip() -> None:
    assert choose_winograd_inner_product(linear(128, 3072, 768), ZEN4, 1) is None


@pytest.mark.parametrize("shape", [(128, 768, 3072), (384, 768, 768), (196, 512, 512), (64, 512, 512), (32, 512, 1024)])
def test_where_pipes_take_whole_vectors_several_share_what_is_read(shape: tuple[int, int, int]) -> None:
    zen5 = Target.find("znver5")
    chosen = choose_winograd_inner_product(linear(*shape), zen5, 1)
    assert chosen is not None and chosen.stepwise and chosen.block > 16
    assert 2 * 4 * 6 * chosen.depth * chosen.block <= zen5.l1  # weights of a section, and those that are on their way


@pytest.mark.parametrize("name", [name for name in TARGETS if name not in ("znver4", "znver5")])
def test_only_cores_that_add_while_they_multiply_gain(name: str) -> None:
    assert choose_winograd_inner_product(linear(128, 768, 3072), Target.find(name), 1) is None


def test_weights_that_change_at_every_call_are_not_scaled() -> None:
    x, w = build.input(0, "f32", (128, 768), "x"), build.input(1, "f32", (3072, 768), "w")
    assert choose_winograd_inner_product(build.linear(x, build.mul(w, 2.0)), ZEN4, 1) is None


@pytest.mark.parametrize("node", [pointwise(7, 160, 960), pointwise(7, 960, 160), pointwise(7, 320, 1280)])
def test_threads_share_columns_where_rows_do_not_come_out_even(node: Node) -> None:
    chosen = choose_winograd_inner_product(node, ZEN4, 2)
    assert chosen is not None and chosen.shares == 2
    assert sizes_of(node).columns % (2 * chosen.block) == 0


def test_few_rows_do_not_read_large_weights_once_per_thread() -> None:
    chosen = choose_winograd_inner_product(linear(16, 4096, 4096), ZEN4, 2)
    assert chosen is not None and chosen.shares == 2


@pytest.mark.parametrize("rows", [64, 128, 197, 512, 784])
def test_threads_get_equal_shares(rows: int) -> None:
    chosen = choose_winograd_inner_product(linear(rows, 512, 512), ZEN4, 2)
    assert chosen is not None
    strips = -(-rows // (chosen.strip * chosen.rows))
    assert strips % 2 == 0 or strips > 8


@pytest.mark.parametrize("shape", [(0, 64, 64), (64, 0, 64), (64, 64, 0)])
@pytest.mark.parametrize("threads", [1, 2])
def test_nothing_is_made_directly(shape: tuple[int, int, int], threads: int) -> None:
    assert choose_winograd_inner_product(linear(*shape), ZEN4, threads) is None
