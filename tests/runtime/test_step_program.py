"""Programs of training steps: the order of backward and the memory that it takes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from strop.core.journal import Journal
from strop.core.options import Options
from strop.graph import build
from strop.graph.ir import Graph, Node, Type
from strop.runtime.dynamo import Backend
from strop.runtime.step_memory import StepMemory
from strop.runtime.step_program import worth_packing
from strop.target.description import TARGETS

BATCH, WIDTH = 512, 64
LAYER = BATCH * WIDTH * 4


def step_bytes(depth: int) -> int:
    """What a step of so many layers holds: forward keeps one value for each."""
    torch._dynamo.reset()
    backend, memories = Backend(Options(), Journal()), list[StepMemory]()
    build = backend.build_step

    def built(*given: Any) -> Any:
        memories.extend(each for each in given if isinstance(each, StepMemory))
        return build(*given)

    backend.build_step = built
    layers = [layer for _ in range(depth) for layer in (nn.Linear(WIDTH, WIDTH), nn.Tanh())]
    model = torch.compile(nn.Sequential(*layers), backend=backend)
    for _ in range(3):
        model(torch.randn(BATCH, WIDTH)).sum().backward()
    return memories[0].bytes


def test_a_layer_adds_what_it_keeps_and_no_temporaries() -> None:
    """A layer's weight gradient is computed as soon as the gradient of its result is there, which can then go; both lie
    where activations of later layers were."""
    assert step_bytes(12) - step_bytes(4) <= 8 * 1.1 * LAYER


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
