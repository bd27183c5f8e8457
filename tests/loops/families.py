"""One small program of each family, with odd sizes, and the two ways to run it: interpreted and natively."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch

from loops.interpret import run
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.passes import Pass
from strop.driver import pipeline
from strop.graph import build
from strop.graph.ir import Graph, Node, Type
from strop.loops.calls import Call
from strop.loops.ir import Nest
from strop.loops.lower.graph import lower
from strop.loops.lowered import Lowered
from strop.runtime import reference
from strop.runtime.program import NativeProgram
from strop.schedule.fuse import fuse


def _named(name: str, node: Node) -> Node:
    return Node(node.op, node.inputs, node.attrs, node.types, name)


def _inputs(*shapes: tuple[int, ...]) -> list[Node]:
    return [build.input(i, "f32", shape, f"x{i}") for i, shape in enumerate(shapes)]


def linear() -> Graph:
    (x,) = _inputs((5, 7))
    w, b = build.param("w", "f32", (6, 7)), build.param("b", "f32", (6,))
    return Graph((x,), (w, b), (_named("y", build.relu(_named("product", build.linear(x, w, b)))),))


def batched_matmul() -> Graph:
    a, b = _inputs((3, 5, 4), (3, 4, 9))
    return Graph((a, b), (), (_named("y", build.matmul(a, b)),))


def convolution() -> Graph:
    (x,) = _inputs((1, 3, 5, 6))
    w, b = build.param("w", "f32", (4, 3, 3, 3)), build.param("b", "f32", (4,))
    v = build.param("v", "f32", (5, 4, 2, 3))
    middle = _named("middle", build.relu(_named("first", build.conv(x, w, b, padding=1))))
    return Graph((x,), (w, b, v), (_named("y", build.conv(middle, v, stride=2, padding=1)),))


def grouped() -> Graph:
    (x,) = _inputs((1, 6, 7))
    w = build.param("w", "f32", (4, 3, 3))
    return Graph((x,), (w,), (_named("y", build.conv(x, w, padding=2, dilation=2, groups=2)),))


def depthwise() -> Graph:
    (x,) = _inputs((1, 5, 6, 5))
    w = build.param("w", "f32", (5, 1, 3, 3))
    return Graph((x,), (w,), (_named("y", build.conv(x, w, padding=1, groups=5)),))


def transposed() -> Graph:
    (x,) = _inputs((1, 3, 4, 3))
    w = build.param("w", "f32", (3, 5, 3, 2))
    return Graph((x,), (w,), (_named("y", build.conv(x, w, stride=2, padding=1, transposed=True)),))


def volume() -> Graph:
    (x,) = _inputs((1, 2, 3, 4, 3))
    w = build.param("w", "f32", (3, 2, 2, 3, 1))
    return Graph((x,), (w,), (_named("y", build.conv(x, w, padding=((1, 1), (1, 0), (0, 0)))),))


def pooling() -> Graph:
    (x,) = _inputs((1, 3, 7, 6))
    attrs = {"kernel": (3, 2), "stride": (2, 2), "padding": ((1, 1), (0, 0)), "dilation": (1, 1)}
    return Graph((x,), (), (Node("max_pool", (x,), attrs, (Type("f32", (1, 3, 4, 3)),), "y"),))


def softmax() -> Graph:
    (x,) = _inputs((3, 11))
    return Graph((x,), (), (_named("y", build.softmax(x)),))


def norm() -> Graph:
    (x,) = _inputs((4, 10))
    w, b = build.param("w", "f32", (10,)), build.param("b", "f32", (10,))
    return Graph((x,), (w, b), (_named("y", build.layer_norm(x, w, b, eps=1e-5)),))


def attention() -> Graph:
    q, k, v = _inputs((2, 5, 4), (2, 7, 4), (2, 7, 3))
    return Graph((q, k, v), (), (_named("y", build.attention(q, k, v, scale=0.5)),))


def pointwise() -> Graph:
    x, z = _inputs((3, 5, 7), (5, 7))
    return Graph((x, z), (), (_named("y", build.mul(build.sigmoid(build.add(x, z)), build.permute(x, (0, 1, 2)))),))


def recurrent() -> Graph:
    x = build.input(0, "f32", (3, 2, 4), "x")
    h, c = build.input(1, "f32", (1, 2, 3), "h"), build.input(2, "f32", (1, 2, 3), "c")
    shapes = {"w_ih": (12, 4), "w_hh": (12, 3), "b_ih": (12,), "b_hh": (12,)}
    params = tuple(build.param(name, "f32", shape) for name, shape in shapes.items())
    attrs = {"layers": 1, "bidirectional": False, "batch_first": False, "has_bias": True}
    types = (Type("f32", (3, 2, 3)), Type("f32", (1, 2, 3)), Type("f32", (1, 2, 3)))
    cell = Node("lstm", (x, h, c, *params), attrs, types, "cell")
    items = tuple(Node("item", (cell,), {"index": i}, (types[i],), f"cell.{i}") for i in range(3))
    return Graph((x, h, c), params, items)


FAMILIES: tuple[Callable[[], Graph], ...] = (
    linear, batched_matmul, convolution, grouped, depthwise, transposed, volume, pooling, softmax, norm, attention,
    pointwise, recurrent,
)  # fmt: skip


@cache
def lowered(family: Callable[[], Graph]) -> Lowered:
    """The program after fusion."""
    return fuse(lower(family()), Journal())


@cache
def example(family: Callable[[], Graph]) -> tuple[list[torch.Tensor], list[torch.Tensor], list[torch.Tensor]]:
    """Inputs, parameters and what comes out."""
    graph, generator = family(), torch.Generator().manual_seed(0)
    inputs = [torch.randn(node.shape, generator=generator) for node in graph.inputs]
    params = [torch.randn(node.shape, generator=generator) for node in graph.params]
    return inputs, params, list(reference.evaluate(graph, inputs, params)[0])


@cache
def planned(family: Callable[[], Graph]) -> tuple[Nest, ...]:
    """The nests that a schedule is made for: with layouts and copies, as `Session.apply` sees them."""
    options = Options(cache=False)
    target = pipeline.target_for(options)
    stages = pipeline.plan_nests(lowered(family), target, options, Journal(), 1)
    calls = [call for call in stages.plan.steps if isinstance(call, Call)]
    return tuple({call.source.name: call.source for call in calls}.values())


def interpreted(family: Callable[[], Graph], program: Lowered) -> None:
    """Every output equals the reference; what no nest writes is NaN, so that reading it would show."""
    inputs, params, wanted = example(family)
    memory = {b.name: t.numpy() for b, t in zip((*program.inputs, *program.params), (*inputs, *params))}
    memory.update((b.name, np.array(v).reshape(b.shape)) for b, v in program.constants.items())
    for nest in program.nests:
        for buffer in nest.writes:
            memory.setdefault(buffer.name, np.full(buffer.shape, np.nan))
    run(program.nests, memory)
    for buffer, expected in zip(program.outputs, wanted, strict=True):
        np.testing.assert_allclose(memory[buffer.name], expected.numpy(), rtol=1e-4, atol=1e-5)


def natively(family: Callable[[], Graph], edits: Sequence[Pass], threads: int = 1) -> None:
    """The compiled program, steered by passes, computes what the reference computes."""
    inputs, params, wanted = example(family)
    options, journal = Options(cache=False, check=True), Journal()
    target = pipeline.target_for(options)
    stages = pipeline.plan_nests(lowered(family), target, options, journal, threads, edits)
    program = NativeProgram(pipeline.generate(stages, target, journal), options)
    program.bind(params)
    for got, expected in zip(program(inputs), wanted, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
