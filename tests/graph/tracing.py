"""Functions written in torch, as a user would, brought to graphs through both dialects; compared with eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from graph.evaluating import ops
from strop.core.journal import Journal
from strop.frontend.torch.export import capture
from strop.frontend.torch.normalize import from_fx
from strop.graph.ir import Graph
from strop.graph.passes.simplify import simplify
from strop.graph.verify import verify
from strop.runtime.reference import evaluate

__all__ = ["ops", "traced"]


class Function(torch.nn.Module):
    """A function and its parameters as a module."""

    def __init__(self, function: Callable[..., Any], params: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.function = function
        for key, value in params.items():
            self.register_parameter(key, torch.nn.Parameter(value, requires_grad=False))

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs, **dict(self.named_parameters()))


def traced(
    function: Callable[..., Any],
    *inputs: torch.Tensor,
    journal: Journal | None = None,
    export: bool = False,
    **params: torch.Tensor,
) -> Graph:
    """The simplified graph of a function, after its results were compared with eager's.

    Traced by default into the operators that AOTAutograd sees (products become `bmm` between views), or with
    `export` into those of torch.export.
    """
    graph = _exported(function, inputs, params) if export else _aot(function, inputs, params)
    after = simplify(graph, journal)
    verify(after)
    expected = function(*inputs, **params)
    got, _ = evaluate(after, list(inputs), params)
    for a, b in zip(expected if isinstance(expected, tuple) else (expected,), got):
        torch.testing.assert_close(b, a, rtol=2e-5, atol=2e-5, equal_nan=True)
    return after


def _exported(function: Callable[..., Any], inputs: tuple[torch.Tensor, ...], params: dict[str, torch.Tensor]) -> Graph:
    return capture(Function(function, params).eval(), inputs).graph


def _aot(function: Callable[..., Any], inputs: tuple[torch.Tensor, ...], params: dict[str, torch.Tensor]) -> Graph:
    def flat(*values: torch.Tensor) -> Any:
        return function(*values[: len(inputs)], **dict(zip(params, values[len(inputs) :])))

    with torch.no_grad():
        module = make_fx(flat, tracing_mode="fake")(*inputs, *params.values())
    placeholders = [node.name for node in module.graph.nodes if node.op == "placeholder"]
    return from_fx(module, params=dict(zip(placeholders[len(inputs) :], params))).graph
