"""Nests with symbolic extents: bound to numbers and executed, they compute what the bound graph means."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from golden import golden
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.evaluating import graph_of, tensor, values_for, weight
from graph.symbolic import NODES, block, n, s
from loops.interpret import run
from strop.core.extents import SymbolicExtent, UnknownExtent, symbol
from strop.graph import build
from strop.graph.ir import Graph, Node
from strop.loops.index import Var
from strop.loops.lower.graph import lower
from strop.loops.lowered import LibraryCall
from strop.loops.verify import verify
from strop.runtime.reference import evaluate


def bound(item: Any, values: dict[str, int]) -> Any:
    """A nest with numbers in the place of symbols and nothing else changed."""
    if isinstance(item, SymbolicExtent):
        return item.evaluate(values)
    if isinstance(item, Var):
        return Var(item.name, bound(item.extent, values))
    if isinstance(item, tuple):
        return tuple(bound(part, values) for part in item)
    if not is_dataclass(item):
        return item
    return replace(item, **{f.name: bound(getattr(item, f.name), values) for f in fields(item) if f.init})


def _named(graph: Graph) -> Graph:
    """The graph with a name for every node that has none."""
    made: dict[Node, Node] = {}
    for i, node in enumerate(graph.nodes):
        made[node] = replace(node, inputs=tuple(made[k] for k in node.inputs), name=node.name or f"v{i}")
    parts = (graph.inputs, graph.params, graph.outputs)
    return Graph(*(tuple(made[node] for node in nodes) for nodes in parts))


def check_nests(graph: Graph, values: dict[str, int]) -> None:
    """Lowered with symbols and then bound: what the graph means that was bound first."""
    graph = _named(graph)
    lowered = lower(graph)
    verify(lowered.nests, "lower")
    assert not any(isinstance(step, LibraryCall) for step in lowered.nests)
    numbers = graph.bind(values)
    inputs, params = values_for(numbers)
    inputs = [x.abs() % 3 if x.dtype == torch.int64 else x for x in inputs]  # positions
    want, _ = evaluate(numbers, inputs, params)
    memory = {buffer.name: x.numpy() for buffer, x in zip(lowered.inputs, inputs)}
    memory |= {buffer.name: params[node.attrs["key"]].numpy() for buffer, node in zip(lowered.params, graph.params)}
    done = run([bound(nest, values) for nest in lowered.nests], memory)
    for buffer, expected in zip(lowered.outputs, want):
        np.testing.assert_allclose(done[buffer.name], expected.numpy(), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", NODES)
@settings(max_examples=4, deadline=None)
@given(x=st.integers(1, 6), y=st.integers(2, 5))
def test_nests_of_an_operator_compute_it_at_any_value(name, x, y):
    check_nests(graph_of(NODES[name]()), {"n": x, "s": y})


@settings(max_examples=6, deadline=None)
@given(x=st.integers(1, 6), y=st.integers(2, 5))
def test_nests_of_a_network_compute_it_at_any_value(x, y):
    check_nests(block(), {"n": x, "s": y})


def test_variance_divides_by_an_extent():
    for x in (1, 4):
        check_nests(graph_of(build.reduce("var", tensor(n, s), (1,), correction=1)), {"n": x, "s": 2})


def test_symbolic_nests_print_with_bounds():
    lowered = lower(block())
    verify(lowered.nests)
    golden("loops/symbolic", str(lowered))


def test_a_lowering_that_needs_a_number_names_node_and_symbol():
    x = tensor(n, 3, s)
    pooled = replace(
        build.make("adaptive_avg_pool", (x,), {"output": (4,)}, types=(replace(x.type, shape=(n, 3, 4)),)), name="pool"
    )
    with pytest.raises(UnknownExtent, match=r"%pool: the lowering of `adaptive_avg_pool`: .* s:2\.\.5"):
        lower(graph_of(pooled))


def test_a_dimension_that_may_be_empty_is_lowered():
    none = symbol("z", 0, 3)
    lowered = lower(_named(graph_of(build.linear(tensor(none, 4), weight(5, 4)))))
    verify(lowered.nests)
    assert "parallel m0 in z, n in 5:" in str(lowered)
