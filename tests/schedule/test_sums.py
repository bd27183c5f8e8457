"""Which sums are made of subtotals: long ones, and none of those that are short."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import pytest

from strop.graph import build
from strop.graph.ir import Graph, Node
from strop.loops.index import Var
from strop.loops.ir import Loop, Nest
from strop.loops.lower.graph import lower
from strop.loops.passes.blocking import Subtotal
from strop.schedule.builder import ScheduleBuilder
from strop.schedule.default import schedule
from strop.schedule.sums import BLOCK, LONGEST, LONGEST_PRODUCT, _blocks, _sums
from strop.target.description import Target


def x(*shape: int, index: int = 0) -> Node:
    return build.input(index, "f32", shape, f"x{index}")


def scheduled(result: Node, *params: Node, target: str = "znver3") -> list[ScheduleBuilder]:
    inputs = tuple(node for node in Graph((), params, (result,)).nodes if node.op == "input")
    steps = lower(Graph(inputs, params, (result,))).nests
    return [schedule(one, Target.find(target), 1) for one in steps if isinstance(one, Nest)]


def subtotals(recipes: list[ScheduleBuilder]) -> list[Subtotal]:
    return [one for recipe in recipes for one in recipe.passes if isinstance(one, Subtotal)]


@pytest.mark.parametrize(
    "result",
    [
        build.reduce("sum", x(100_003), (0,)),
        build.reduce("mean", x(3137, 100), (0,)),
        build.reduce("var", x(2, 100_000), (1,), correction=1),
        build.softmax(x(4, 50_000)),
        build.layer_norm(x(4, 50_000), eps=1e-5),
        build.reduce("sum", build.mul(x(20_000), x(20_000)), (0,)),
    ],
)
def test_long_sums_are_made_of_subtotals(result: Node) -> None:
    assert subtotals(scheduled(result))


@pytest.mark.parametrize(
    "result",
    [
        build.reduce("sum", x(16, 4096), (1,)),
        build.layer_norm(x(16, 4096), eps=1e-5),
        build.softmax(x(16, 4096)),
        build.reduce("amax", x(100_003), (0,)),
        build.matmul(x(64, 128), x(128, 64, index=1)),
        build.matmul(x(64, 4096), x(4096, 1, index=1)),
        build.attention(x(1, 1, 1, 64), x(1, 1, 128, 64, index=1), x(1, 1, 128, 64, index=2), scale=0.1),
        build.conv(x(1, 14, 9, 9), build.param("w", "f32", (16, 14, 3, 3))),
    ],
)
def test_short_sums_keep_one_accumulator(result: Node) -> None:
    params = [node for node in Graph((), (), (result,)).nodes if node.op == "param"]
    assert not subtotals(scheduled(result, *params))


@pytest.mark.parametrize("target", ["znver3", "znver4"])
@pytest.mark.parametrize(
    "result",
    [
        build.matmul(x(64, 768), x(768, 64, index=1)),
        build.matmul(x(64, 9001), x(9001, 64, index=1)),
        build.matmul(x(1, 9000), x(9000, 64, index=1)),
        build.matmul(x(2, 8, 300), x(2, 300, 64, index=1)),
        build.attention(x(1, 1, 1, 64), x(1, 1, 1024, 64, index=1), x(1, 1, 1024, 64, index=2), scale=0.1),
        build.conv(x(1, 512, 9, 9), build.param("w", "f32", (16, 512, 3, 3))),
        build.conv(x(1, 64, 9, 9), build.param("w", "f32", (16, 64, 3, 3))),
    ],
)
def test_products_add_blocks(result: Node, target: str) -> None:
    """No register tile adds more than so many products in a row."""
    params = [node for node in Graph((), (), (result,)).nodes if node.op == "param"]
    recipes = scheduled(result, *params, target=target)
    assert subtotals(recipes)
    steps = [one.steps for recipe in recipes for one in _sums(recipe.nest, (), {})]
    assert max(prod(loop.extent for loop in chain) for chain in steps) <= LONGEST_PRODUCT


@pytest.mark.parametrize("target", ["znver3", "znver4"])
def test_no_accumulator_takes_many_steps(target: str) -> None:
    for recipe in scheduled(build.layer_norm(x(2, 1_000_003), eps=1e-5), target=target):
        assert all(loop.extent <= LONGEST for loop in recipe.nest.all_loops if loop.kind == "reduce")


@pytest.mark.parametrize("extents", [(129,), (1_000_003,), (256, 125), (256, 131), (40, 40, 40), (7, 1001, 999)])
def test_blocks_cover_a_chain_of_loops(extents: tuple[int, ...]) -> None:
    """However loops follow one another, what is added in one go is short."""
    chain = tuple(Loop(Var(f"k{i}", extent), "reduce") for i, extent in enumerate(extents))
    counts = {loop.name: loop.extent for loop in chain}
    order = [loop.name for loop in chain]
    ends: list[int] = []  # where in the order of loops a block ends
    for name, by in _blocks(chain, LONGEST, BLOCK):
        counts[f"{name}.s"], counts[name] = -(-counts[name] // by), by
        order.insert(order.index(name), f"{name}.s")
        ends.append(order.index(name) - len(order))
    bounds = [0, *(len(order) + end for end in reversed(ends)), len(order)]
    lengths = [prod(counts[name] for name in order[a:b]) for a, b in pairwise(bounds)]
    assert len(lengths) > 1
    assert lengths[-1] <= LONGEST and max(lengths[:-1]) <= 2 * BLOCK
