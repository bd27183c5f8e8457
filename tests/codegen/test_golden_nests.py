"""Six programs that prove the nest IR general: their schedules as people read them, and their numbers.

The schedules are those for a fixed target, so that the golden files are the same on every machine; the numbers come
from code for the machine that runs the tests.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from golden import golden

from strop.core.journal import Journal
from strop.core.options import Options
from strop.driver.pipeline import run_stages
from strop.graph import build
from strop.graph.ir import Graph, Node, Type
from strop.loops.calls import Call
from strop.runtime import reference
from strop.runtime.program import build as build_program
from strop.schedule import default
from strop.target.description import Target

TARGET = "znver3"


def matmul_gelu() -> Graph:
    x = build.input(0, "f32", (31, 24), "x")
    weight, bias = build.param("weight", "f32", (40, 24)), build.param("bias", "f32", (40,))
    y = _named("y", build.unary("gelu", _named("product", build.linear(x, weight, bias)), approximate="none"))
    return Graph((x,), (weight, bias), (y,))


def depthwise_pointwise() -> Graph:
    x = build.input(0, "f32", (1, 16, 10, 10), "x")
    deep, wide = build.param("depthwise", "f32", (16, 1, 3, 3)), build.param("pointwise", "f32", (24, 16, 1, 1))
    middle = _named("middle", build.relu(_named("each", build.conv(x, deep, padding=1, groups=16))))
    return Graph((x,), (deep, wide), (_named("y", build.conv(middle, wide)),))


def softmax() -> Graph:
    x = build.input(0, "f32", (5, 37), "x")
    return Graph((x,), (), (_named("y", build.softmax(x)),))


def attention() -> Graph:
    q, k, v = (build.input(i, "f32", (2, 3, 17, 8), name) for i, name in enumerate("qkv"))
    return Graph((q, k, v), (), (_named("y", build.attention(q, k, v, scale=0.35)),))


def winograd() -> Graph:
    x = build.input(0, "f32", (1, 32, 24, 24), "x")
    weight, bias = build.param("weight", "f32", (32, 32, 3, 3)), build.param("bias", "f32", (32,))
    y = _named("y", build.relu(_named("convolved", build.conv(x, weight, bias, padding=1))))
    return Graph((x,), (weight, bias), (y,))


def lstm_cell() -> Graph:
    x = build.input(0, "f32", (4, 2, 12), "x")
    h, c = build.input(1, "f32", (1, 2, 16), "h"), build.input(2, "f32", (1, 2, 16), "c")
    shapes = {"w_ih": (64, 12), "w_hh": (64, 16), "b_ih": (64,), "b_hh": (64,)}
    params = tuple(build.param(name, "f32", shape) for name, shape in shapes.items())
    attrs = {"layers": 1, "bidirectional": False, "batch_first": False, "has_bias": True}
    types = (Type("f32", (4, 2, 16)), Type("f32", (1, 2, 16)), Type("f32", (1, 2, 16)))
    cell = Node("lstm", (x, h, c, *params), attrs, types, "cell")
    items = tuple(Node("item", (cell,), {"index": i}, (types[i],), f"cell.{i}") for i in range(3))
    return Graph((x, h, c), params, items)


def _named(name: str, node: Node) -> Node:
    return Node(node.op, node.inputs, node.attrs, node.types, name)


PROGRAMS = (matmul_gelu, depthwise_pointwise, softmax, attention, winograd, lstm_cell)


@pytest.mark.parametrize("program", PROGRAMS)
def test_schedule_reads_as_kept(program: Callable[[], Graph]):
    stages = run_stages(program(), Target.find(TARGET), Options(cache=False, check=True), Journal(), 1)
    parts = []
    for title, calls in (("once, from parameters", stages.plan.prepare), ("every call", stages.plan.steps)):
        if calls:
            parts.append(f"=== {title}")
        for call in calls:
            assert isinstance(call, Call), f"a library node: {call}"
            parts += [f"{call.name}: {' '.join(map(str, call.passes)) or 'as it is'}", str(call.nest), ""]
    golden(f"codegen/{program.__name__}", "\n".join(parts))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS)
def test_numbers_equal_the_reference(program: Callable[[], Graph], threads: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(default, "PARALLEL_EFFORT", 0)
    graph = program()
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(node.shape, generator=generator) for node in graph.inputs]
    params = [torch.randn(node.shape, generator=generator) for node in graph.params]
    made = build_program(graph, Options(cache=False, check=True), Journal(), threads)
    assert not made.compiled.about.library
    made.bind(params)
    wanted, _ = reference.evaluate(graph, inputs, params)
    for got, expected in zip(made(inputs), wanted):
        scale = float(expected.abs().max())
        assert float((got - expected).abs().max()) <= 1e-5 * scale


def test_winograd_is_the_chosen_algorithm():
    journal = Journal()
    run_stages(winograd(), Target.find(TARGET), Options(cache=False), journal, 1)
    assert any("Winograd F(4×4)" in event.message for event in journal.events)
