"""The reference evaluator: a graph node by node, each by the meaning of its operator (`runtime/meanings/`).

Slow and plain on purpose. Tests compare captured graphs, rewritten graphs and generated code with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from strop.frontend.torch import library_nodes
from strop.frontend.torch.dtypes import DTYPES
from strop.graph.ir import Graph, Node
from strop.runtime.meanings import MEANINGS

Tensor = torch.Tensor


def evaluate(
    graph: Graph, inputs: Sequence[Tensor], params: Mapping[str, Tensor] | Sequence[Tensor] = ()
) -> tuple[list[Tensor], list[Tensor]]:
    """The outputs, and the values that `graph.mutations` would write, in order. Nothing is written."""
    values: dict[Node, Any] = dict(zip(graph.inputs, inputs))
    if isinstance(params, Mapping):
        values.update((node, params[node.attrs["key"]]) for node in graph.params)
    else:
        values.update(zip(graph.params, params))
    with torch.no_grad():
        for node in graph.nodes:
            if node not in values:
                values[node] = run(node, [values[i] for i in node.inputs])
    return [values[n] for n in graph.outputs], [values[value] for _, value in graph.mutations]


def run(node: Node, inputs: Sequence[Any]) -> Any:
    """One node: a tensor, or a tuple of tensors where it has several results. Checks the types that it promises."""
    return runner(node)(inputs)


def runner(node: Node, views: bool = False) -> Callable[[Sequence[Any]], Any]:
    """`run` for one node, with everything looked up beforehand; `views` as in `library.caller`."""
    if node.op != "aten":
        meaning = MEANINGS[node.op]
        return lambda inputs: _checked(node, meaning(node, *inputs, **node.attrs))
    call = library_nodes.caller(node, views)
    if len(node.types) != 1:
        return call  # torch may mistype results that nobody uses; each `item` checks its own
    return lambda inputs: _checked(node, call(inputs)[0])


def _checked(node: Node, result: Any) -> Any:
    for value, type in zip(result if isinstance(result, tuple) else (result,), node.types):
        if tuple(value.shape) != type.shape or value.dtype != DTYPES[type.dtype]:
            raise TypeError(f"{node}: computed {value.dtype}{list(value.shape)}")
    return result
