"""Running graphs before and after rewriting, on random values, with the reference evaluator."""

from __future__ import annotations

import torch

from strop.core.journal import Journal
from strop.core.rewrite import Rules, rewrite
from strop.core.topological import topological
from strop.graph import build
from strop.graph.ir import Graph, Node
from strop.graph.passes.language import P
from strop.graph.passes.simplify import simplify
from strop.graph.verify import verify
from strop.runtime.reference import evaluate

DTYPES = {"f32": torch.float32, "f64": torch.float64, "i64": torch.int64, "i32": torch.int32, "bool": torch.bool}


def tensor(*shape: int, dtype: str = "f32", index: int = 0) -> Node:
    return build.input(index, dtype, shape)


def weight(*shape: int, key: str = "w") -> Node:
    return build.param(key, "f32", shape)


def graph_of(*outputs: Node) -> Graph:
    """The graph that returns these nodes; its inputs and params are those found below them."""
    nodes = list(topological(outputs))
    inputs = sorted((n for n in nodes if n.op == "input"), key=lambda n: n.attrs["index"])
    return Graph(tuple(inputs), tuple(n for n in nodes if n.op == "param"), outputs)


def values_for(graph: Graph) -> tuple[list[torch.Tensor], dict[str, torch.Tensor]]:
    """Random inputs and params; params are positive, so that variances are."""
    generator = torch.Generator().manual_seed(0)

    def value(node: Node) -> torch.Tensor:
        drawn = torch.randn(node.shape, generator=generator, dtype=torch.float64)
        if node.dtype == "bool":
            return drawn > 0
        if node.dtype in ("i32", "i64"):
            return (drawn * 10).to(DTYPES[node.dtype])
        return drawn.to(DTYPES[node.dtype])

    return [value(n) for n in graph.inputs], {n.attrs["key"]: value(n).abs() + 0.1 for n in graph.params}


def check_same(before: Graph, after: Graph, tolerance: float = 2e-5) -> None:
    """Both graphs are well-formed and compute the same, up to rounding."""
    verify(before, "before")
    verify(after, "after")
    assert [n.types for n in after.outputs] == [n.types for n in before.outputs]
    inputs, params = values_for(before)
    expected, _ = evaluate(before, inputs, params)
    got, _ = evaluate(after, inputs, params)
    for a, b in zip(expected, got):
        torch.testing.assert_close(b, a, rtol=tolerance, atol=tolerance, equal_nan=True)


def apply_rules(graph: Graph, rules: Rules, journal: Journal | None = None) -> Graph:
    """The graph after the rules came to rest."""
    return graph.with_roots(rewrite(graph.roots, rules, P, journal))


def rewritten(rules: Rules, *outputs: Node, journal: Journal | None = None) -> Graph:
    """The graph after `rules` alone, checked against the one before."""
    before = graph_of(*outputs)
    after = apply_rules(before, rules, journal)
    check_same(before, after)
    return after


def simplified(*outputs: Node, journal: Journal | None = None) -> Graph:
    before = graph_of(*outputs)
    after = simplify(before, journal)
    check_same(before, after)
    return after


def ops(graph: Graph) -> list[str]:
    """The operators of a graph without its leaves."""
    return [n.op for n in graph.nodes if n.op not in ("input", "param", "full", "constant", "arange")]


def refusals(journal: Journal) -> str:
    return "\n".join(event.message for event in journal.of("refusal"))
