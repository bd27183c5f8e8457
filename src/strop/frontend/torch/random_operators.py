"""Random operators: the same numbers in the same places as in eager mode, and the generator left in the same state.

They are library nodes, and each comes after the one before it, used or not. A random operator draws one number after
the other in the order in which its argument lies in memory, so it gets its arguments with the strides that they have in
eager mode: attribute `strides`, one entry for each argument.

Functionalisation gives `x.bernoulli_(p)` the name of `bernoulli(x, p)`, which draws in the order of a contiguous
tensor, whatever the strides of `x`. So calls of the latter are written as the former on a contiguous tensor beforehand
(`name_draws`), and from there on the name means what writes in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from strop.frontend.torch.strides import restrided

#: what functionalisation makes of random operators that write in place; torch's kernels draw for another layout
IN_PLACE = {
    "aten.bernoulli.p": "aten.bernoulli_.float",
    "aten.bernoulli.Tensor": "aten.bernoulli_.Tensor",
    "aten.cauchy.default": "aten.cauchy_.default",
    "aten.exponential.default": "aten.exponential_.default",
    "aten.geometric.default": "aten.geometric_.default",
    "aten.log_normal.default": "aten.log_normal_.default",
    "aten.normal_functional.default": "aten.normal_.default",
    "aten.random.default": "aten.random_.default",
    "aten.random.from": "aten.random_.from",
    "aten.random.to": "aten.random_.to",
    "aten.uniform.default": "aten.uniform_.default",
}


def is_random(target: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())


def layouts(
    strides: Sequence[tuple[int, ...]], in_place: bool
) -> list[tuple[int, Callable[[torch.Tensor], torch.Tensor]]]:
    """Which inputs are given another layout, and how. What is written in place is memory of its own in any case."""

    def with_strides(wanted: tuple[int, ...]) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda tensor: tensor if tensor.stride() == wanted else restrided(tensor, wanted)

    def to_be_written(wanted: tuple[int, ...]) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda tensor: torch.empty_strided(tensor.shape, wanted, dtype=tensor.dtype)

    return [
        (place, to_be_written(wanted) if in_place and place == 0 else with_strides(wanted))
        for place, wanted in enumerate(strides)
    ]


def name_draws(module: torch.fx.GraphModule) -> None:
    """Write `bernoulli(x, p)` as `empty_like(x, memory_format=contiguous_format).bernoulli_(p)`."""
    aten = [node for node in module.graph.nodes if node.target is torch.ops.aten.bernoulli.p]
    plain = [node for node in module.graph.nodes if node.target in (torch.bernoulli, "bernoulli")]
    plain = [node for node in plain if len(node.args) > 1 or "p" in node.kwargs]
    for node in aten:
        _on_fresh(node, torch.ops.aten.empty_like.default, torch.ops.aten.bernoulli_.float)
    for node in plain:
        _on_fresh(node, torch.empty_like, torch.Tensor.bernoulli_)
    if aten or plain:
        module.recompile()


def _on_fresh(node: torch.fx.Node, empty_like: Callable[..., Any], draw: Callable[..., Any]) -> None:
    graph = node.graph
    with graph.inserting_before(node):
        fresh = graph.call_function(empty_like, node.args[:1], {"memory_format": torch.contiguous_format})
    fresh.meta = dict(node.meta)  # the draws are contiguous too
    node.op, node.target, node.args = "call_function", draw, (fresh, *node.args[1:])
