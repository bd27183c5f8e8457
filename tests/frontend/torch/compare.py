"""Captured and evaluated node by node, a program must equal eager, and its graph must keep the graph's own rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from strop.frontend.torch.export import Captured, capture
from strop.frontend.torch.normalize import Conversion, GraphOutput, convert
from strop.graph.ir import Graph
from strop.graph.verify import verify
from strop.runtime.reference import evaluate

CLOSE = {"rtol": 1e-4, "atol": 5e-5, "equal_nan": True}


def check_function(function: Callable[..., Any], *tensors: torch.Tensor, native: bool = True) -> Conversion:
    converted = convert(function, *tensors)
    verify(converted.graph)
    if native:
        assert not converted.fallbacks
    outputs, _ = evaluate(converted.graph, tensors)
    assert_same([_value(slot, outputs) for slot in converted.outputs], function(*tensors))
    return converted


def check_module(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None, native: bool = True
) -> Captured:
    module.eval()
    captured = capture(module, args, kwargs)
    verify(captured.graph)
    if native:
        assert not captured.fallbacks
    leaves = tree_flatten((args, dict(kwargs or {})))[0]
    outputs, _ = evaluate(captured.graph, [leaves[i] for i in captured.inputs], captured.fetch(module))
    with torch.no_grad():
        assert_same([_value(slot, outputs) for slot in captured.outputs], module(*args, **(kwargs or {})))
    return captured


def assert_same(got: list[Any], wanted: Any) -> None:
    leaves = tree_flatten(wanted)[0]
    assert len(got) == len(leaves)
    for mine, theirs in zip(got, leaves):
        if isinstance(theirs, torch.Tensor):
            torch.testing.assert_close(mine, theirs, **CLOSE)
        else:
            assert mine == theirs


def ops(graph: Graph) -> list[str]:
    """What the graph computes, leaves aside, in order."""
    return [node.op for node in graph.nodes if node.op not in ("input", "param")]


def _value(slot: Any, outputs: list[torch.Tensor]) -> Any:
    return outputs[slot.index] if isinstance(slot, GraphOutput) else slot.value
