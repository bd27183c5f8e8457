"""Embedding bags of one size, written as rows and their sum: operators whose gradients are native.

PyTorch's gradient of a bag is a library call that writes a whole table into memory that is new in every step. Bags of
one size are what 2-d indices are; other bags stay calls.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from torch.fx import GraphModule
from torch.fx import Node as FxNode

_SIGNATURE = inspect.signature(F.embedding_bag)


def write_bags_out(graph_module: GraphModule) -> None:
    """Replace the bags of a graph that Dynamo traced."""
    found = [node for node in graph_module.graph.nodes if node.target is F.embedding_bag and _fits(node)]
    for node in found:
        node.target = bags
    if found:
        graph_module.recompile()


def bags(*args: Any, **kwargs: Any) -> Tensor:
    """What `F.embedding_bag` returns."""
    given = _SIGNATURE.bind(*args, **kwargs).arguments
    rows = F.embedding(given["input"], given["weight"])
    if given.get("per_sample_weights") is not None:
        rows = rows * given["per_sample_weights"].unsqueeze(-1)
    return rows.mean(1) if given.get("mode", "mean") == "mean" else rows.sum(1)


def _fits(node: FxNode) -> bool:
    given = _SIGNATURE.bind(*node.args, **node.kwargs)
    given.apply_defaults()
    index = given.arguments["input"]
    value = index.meta.get("example_value") if isinstance(index, FxNode) else None
    unused = ("offsets", "max_norm", "padding_idx")
    off = ("scale_grad_by_freq", "sparse", "include_last_offset")
    return (
        isinstance(value, Tensor)
        and value.ndim == 2
        and given.arguments["mode"] in ("sum", "mean")
        and all(given.arguments[name] is None for name in unused)
        and all(given.arguments[name] is False for name in off)
    )
