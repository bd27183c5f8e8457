"""Which values are images, and graphs that take and return them channels last."""

from __future__ import annotations

import numpy as np

from loops.interpret import run
from strop.graph import build
from strop.graph.images import images, returning_channels_last, taking_channels_last
from strop.graph.ir import Graph, Node, Type
from strop.graph.verify import verify
from strop.loops.ir import Nest
from strop.loops.lower.graph import lower
from strop.loops.passes.layouts import HandOver


def given(name: str, *shape: int, index: int = 0) -> Node:
    return Node("input", (), {"index": index}, (Type("f32", shape),), name)


def named(name: str, node: Node) -> Node:
    return Node(node.op, node.inputs, node.attrs, node.types, name)


x = given("x", 2, 3, 4, 5)
weight = given("weight", 6, 3, 3, 3, index=1)
ATTRS = {"stride": (1, 1), "dilation": (1, 1), "groups": 1, "transposed": False, "output_padding": (0, 0)}


def conv(name: str, image: Node, factor: Node) -> Node:
    padding = tuple((extent // 2, extent // 2) for extent in factor.shape[2:])
    shape = (image.shape[0], factor.shape[0], *image.shape[2:])
    return Node("conv", (image, factor), {**ATTRS, "padding": padding}, (Type("f32", shape),), name)


def values(graph: Graph, **arrays: np.ndarray) -> list[np.ndarray]:
    lowered = lower(graph)
    lowered = HandOver.apply_all(lowered, list(HandOver.space(lowered)))
    memory = dict(arrays)
    run([step for step in lowered.nests if isinstance(step, Nest)], memory)
    return [memory[buffer.name] for buffer in lowered.outputs]


def test_what_convolutions_touch_is_an_image_and_so_is_what_is_computed_from_it_point_by_point():
    first = conv("first", x, weight)
    scaled = named("scaled", build.mul(first, given("factor", 2, 6, 1, 1, index=2)))
    assert images(Graph((x, weight), (), (scaled,))) == {x, first, scaled}


def test_scores_of_attention_heads_are_no_images():
    scores = named("scores", build.unary("exp", given("q", 2, 3, 8, 8)))
    assert not images(Graph((scores.inputs[0],), (), (scores,)))


def test_a_result_is_computed_in_the_order_in_which_it_is_returned():
    first = conv("first", x, weight)
    graph = returning_channels_last(Graph((x, weight), (), (first,)), [0])
    verify(graph)
    lowered = lower(graph)
    assert len(lowered.nests) == 1 and lowered.handed == {"first"}
    turned = HandOver("first").apply(lowered)
    assert turned.outputs[0].shape == (2, 4, 5, 6)
    assert not HandOver("first").check(turned)


def test_an_image_that_windows_reach_out_of_is_kept_as_a_copy():
    first = conv("first", x, weight)
    second = conv("second", first, given("again", 2, 6, 3, 3, index=2))
    graph = Graph((x, weight, second.inputs[1]), (), (second, first))
    lowered = lower(returning_channels_last(graph, [1]))
    assert not lowered.handed and len(lowered.nests) == 3
    assert lowered.channels_last == {lowered.outputs[1].name}


def test_graphs_that_take_and_return_images_channels_last_compute_the_same():
    first = conv("first", x, weight)
    result = named("result", build.unary("exp", first))
    graph = Graph((x, weight), (), (result, first))
    rng = np.random.default_rng(0)
    image, factor = (rng.standard_normal(node.shape).astype(np.float32) for node in (x, weight))
    wanted = values(graph, x=image, weight=factor)
    turned = taking_channels_last(returning_channels_last(graph, [1]), [0])
    verify(turned)
    found = values(turned, x=np.ascontiguousarray(image.transpose(0, 2, 3, 1)), weight=factor)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)
    np.testing.assert_allclose(found[1], wanted[1].transpose(0, 2, 3, 1), rtol=1e-6)
