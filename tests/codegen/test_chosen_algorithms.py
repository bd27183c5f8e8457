"""Every algorithm that some machine would choose computes what the operator is defined by, on the machine at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from codegen.machines import runnable
from strop.core.journal import Journal
from strop.core.options import Options
from strop.graph import build
from strop.graph.ir import Graph, Node, Type
from strop.runtime import reference
from strop.runtime.program import build as build_program
from strop.schedule.algorithms import Algorithm, choose_algorithms
from strop.target.description import TARGETS

FAST = Options(cache=False, numerics="fast")
#: of a result's scale; Winograd's convolution of 5×5 taps is the least exact, with 3e-6
ERROR = 4e-6
GATES = {"lstm": 4, "gru": 3}


def product(dtype: str, rows: int, depth: int, columns: int) -> Graph:
    x, weight = build.input(0, dtype, (rows, depth), "x"), build.param("w", dtype, (columns, depth))
    return Graph((x,), (weight,), (build.linear(x, weight),))


def convolution(
    dtype: str, channels: int, size: tuple[int, ...], kernel: tuple[int, ...], groups: int = 1, batch: int = 1
) -> Graph:
    x = build.input(0, dtype, (batch, channels, *size), "x")
    weight = build.param("w", dtype, (channels, channels // groups, *kernel))
    padding = [(taps // 2, taps // 2) for taps in kernel]
    return Graph((x,), (weight,), (build.conv(x, weight, padding=padding, groups=groups),))


def filter_gradient(dtype: str, channels: int, size: int, groups: int = 1) -> Graph:
    x, dy = (build.input(i, dtype, (2, channels, size, size), name) for i, name in enumerate(("x", "dy")))
    attrs = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": groups, "kernel": (3, 3)}
    made = Type(dtype, (channels, channels // groups, 3, 3))
    return Graph((x, dy), (), (Node("conv_weight_grad", (x, dy), attrs, (made,), "dw"),))


def recurrent(dtype: str, op: str, units: int, ways: int) -> Graph:
    x = build.input(0, dtype, (4, 1, 24), "x")
    states = [build.input(1 + i, dtype, (ways, 1, units), f"s{i}") for i in range(2 if op == "lstm" else 1)]
    rows = GATES[op] * units
    shapes = [(rows, 24), (rows, units), (rows,), (rows,)] * ways
    params = [build.param(f"p{i}", dtype, shape) for i, shape in enumerate(shapes)]
    attrs = {"layers": 1, "bidirectional": ways == 2, "batch_first": False, "has_bias": True}
    types = (Type(dtype, (4, 1, ways * units)), *(state.type for state in states))
    layer = Node(op, (x, *states, *params), attrs, types, op)
    return Graph((x, *states), tuple(params), (Node("item", (layer,), {"index": 0}, types[:1], "y"),))


GRAPHS: dict[str, Callable[[str], Graph]] = {
    "product": lambda dtype: product(dtype, 64, 512, 512),
    "long product": lambda dtype: product(dtype, 200, 768, 768),
    "row": lambda dtype: product(dtype, 1, 1280, 1000),
    "short row": lambda dtype: product(dtype, 1, 512, 256),
    "3×3": lambda dtype: convolution(dtype, 32, (24, 24), (3, 3)),
    "small images": lambda dtype: convolution(dtype, 128, (4, 4), (3, 3), batch=8),
    "5×5": lambda dtype: convolution(dtype, 32, (20, 20), (5, 5)),
    "groups": lambda dtype: convolution(dtype, 64, (28, 28), (3, 3), 2),
    "sound": lambda dtype: convolution(dtype, 64, (100,), (3,)),
    "gradient of few channels": lambda dtype: filter_gradient(dtype, 32, 15),
    "gradient of many channels": lambda dtype: filter_gradient(dtype, 144, 16),
    "gradient of groups": lambda dtype: filter_gradient(dtype, 64, 16, 2),
    "lstm": lambda dtype: recurrent(dtype, "lstm", 256, 2),
    "gru": lambda dtype: recurrent(dtype, "gru", 200, 1),
}


def choices() -> Iterator[tuple[str, str, int]]:
    """A graph, a machine and a number of threads for every choice of algorithms."""
    for name in GRAPHS:
        found: dict[tuple[Algorithm, ...], tuple[str, str, int]] = {}
        for target in TARGETS:
            for threads in (1, 2):
                found.setdefault(chosen(name, target, threads), (name, target, threads))
        yield from (case for ways, case in found.items() if ways)


def chosen(name: str, target: str, threads: int) -> tuple[Algorithm, ...]:
    return tuple(choose_algorithms(GRAPHS[name]("f32"), TARGETS[target], threads, FAST).values())


@pytest.mark.parametrize(("name", "target", "threads"), list(choices()))
def test_what_a_machine_would_choose_is_right(name: str, target: str, threads: int) -> None:
    graph = GRAPHS[name]("f32")
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(node.shape, generator=generator) for node in graph.inputs]
    params = [torch.randn(node.shape, generator=generator) / node.shape[-1] ** 0.5 for node in graph.params]
    journal = Journal()
    program = build_program(graph, Options(cache=False, numerics="fast", target=runnable(target)), journal, threads)
    program.bind(params)
    assert any(str(way) in str(event) for way in chosen(name, target, threads) for event in journal.events)
    (wanted,), _ = reference.evaluate(GRAPHS[name]("f64"), [x.double() for x in inputs], [w.double() for w in params])
    (got,) = program(inputs)
    assert float((got - wanted).abs().max()) <= ERROR * float(wanted.abs().max())


@pytest.mark.parametrize(
    "algorithm",
    ["Winograd F", "gradient by Winograd", "Strassen", "products of pairs", "24 bits", "one direction after"],
)
def test_every_algorithm_is_among_them(algorithm: str) -> None:
    assert any(algorithm in str(way) for case in choices() for way in chosen(*case))
