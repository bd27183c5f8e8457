"""Shapes of a captured graph's values, worked out on stand-ins where capture has left them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from strop.frontend.torch.data_dependent import DATA_DEPENDENT, depends_on_data
from strop.frontend.torch.origin import origin_of


def needs_shapes(module: torch.fx.GraphModule) -> bool:
    """Whether some node does not say what it gives."""
    kinds = ("placeholder", "call_function")
    return any(node.op in kinds and "val" not in node.meta for node in module.graph.nodes)


class _Shapes(torch.fx.Interpreter):
    def run_node(self, n: torch.fx.Node) -> Any:
        try:
            result = super().run_node(n)
        except DATA_DEPENDENT as error:
            raise depends_on_data(error, origin_of(n)) from error
        n.meta["val"] = result
        return result


def bind_shapes(module: torch.fx.GraphModule, examples: Sequence[Any] | None) -> None:
    """Run the graph on fake tensors of the examples' shapes, so that every node knows its own."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    if examples is None:
        examples = [n.meta["val"] for n in module.graph.nodes if n.op == "placeholder"]

    def fake(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        with mode:
            return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)

    with mode:
        shapes = _Shapes(module)
        shapes.extra_traceback = False  # which would be added to what is raised
        shapes.run(*map(fake, examples))
