"""Programs of training steps: the order of backward and the memory that it takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from strop.core.journal import Journal
from strop.core.options import Options
from strop.graph import build
from strop.graph.ir import Graph, Node, Type
from strop.runtime.dynamo import Backend
from strop.runtime.step_memory import StepMemory
from strop.runtime.step_program import worth_packing
from strop.target.description import TARGETS


def step_bytes(layer: Callable[[], nn.Module], depth: int, x: Tensor) -> int:
    """What a step of so many layers holds: forward keeps one value for each."""
    torch._dynamo.reset()
    backend, memories = Backend(Options(), Journal()), list[StepMemory]()
    build = backend.build_step

    def built(*given):
        memories.append(given[3])
        return build(*given)

    backend.build_step = built
    model = torch.compile(
        nn.Sequential(*(part for _ in range(depth) for part in (layer(), nn.Tanh()))), backend=backend
    )
    for _ in range(3):
        model(x).sum().backward()
    return memories[0].bytes


def test_a_layer_adds_what_it_keeps_and_no_temporaries() -> None:
    """A layer's weight gradient is computed as soon as the gradient of its result is there, which can then go; both lie
    where activations of later layers were."""
    x = torch.randn(512, 64)
    linear = partial(nn.Linear, 64, 64)
    assert step_bytes(linear, 12, x) - step_bytes(linear, 4, x) <= 8 * 1.1 * x.nbytes


def test_a_convolution_adds_what_it_keeps_and_no_temporaries() -> None:
    """Its weight gradient, which may be copied into another layout for the caller, does not wait for the end."""
    x = torch.randn(2, 32, 32, 32)
    convolution = partial(nn.Conv2d, 32, 32, 3, padding=1)
    more = step_bytes(convolution, 10, x) - step_bytes(convolution, 4, x)
    assert more <= 6 * 1.3 * x.nbytes


def test_backward_reads_weights_of_products_and_of_pointwise_convolutions_as_they_are() -> None:
    x, dy = build.input(0, "f32", (2, 16, 8, 8)), build.input(1, "f32", (2, 32, 8, 8))
    pointwise, wide = (build.input(i, "f32", (32, 16, taps, taps)) for i, taps in ((2, 1), (3, 3)))
    grads = [
        build.conv(dy, weight, padding=[(taps // 2,) * 2] * 2, transposed=True)
        for weight, taps in ((pointwise, 1), (wide, 3))
    ]
    graph = Graph((x, dy, pointwise, wide), (), tuple(grads))
    assert worth_packing(graph, (2, 3), TARGETS["znver4"]) == [3]
    forward = Graph((x, dy, pointwise, wide), (), (build.conv(x, pointwise),))
    assert worth_packing(forward, (2,), TARGETS["znver4"]) == [2]


def test_a_linear_layer_of_enough_rows_packs_its_weight_panel_by_panel() -> None:
    weight = build.input(1, "f32", (48, 32))
    few, many = (build.linear(build.input(0, "f32", (rows, 32)), weight) for rows in (8, 64))
    packed = [worth_packing(Graph((one.inputs[0], weight), (), (one,)), [1], TARGETS["znver4"]) for one in (few, many)]
    assert packed == [[1], []]


def test_a_linear_layer_whose_weight_is_an_embedding_too_packs_it_panel_by_panel() -> None:
    weight, index = build.input(0, "f32", (48, 32)), build.input(1, "i64", (64,))
    rows = build.make("embedding", (weight, index))
    graph = Graph((weight, index), (), (build.linear(rows, weight),))
    assert worth_packing(graph, [0], TARGETS["znver4"]) == []


def test_the_weight_of_a_loss_in_blocks_is_packed_in_the_arena_alone() -> None:
    x, weight, labels = (
        Node("input", (), {"index": i}, (Type(*one),), f"in{i}")
        for i, one in enumerate([("f32", (64, 16)), ("f32", (500, 16)), ("i64", (64,))])
    )
    number, rows = Type("f32", ()), Type("f32", (64,))
    attrs = {"ignore_index": -100, "mean": True, "rows": 32, "gradients": ()}
    loss = Node("linear_cross_entropy", (x, weight, labels), attrs, (number, number, rows), "loss")
    head = Node("item", (loss,), {"index": 0}, (number,), "result")
    assert worth_packing(Graph((x, weight, labels), (), (head,)), [1], TARGETS["znver4"]) == []
