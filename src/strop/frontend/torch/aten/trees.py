"""Ways down decision trees as an operator of our own: torch has none, and one per level would keep no way short."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import RULES
from strop.graph.ir import Node, Type


def ranks(values: Any) -> Any:
    """Whole numbers that are ordered as floats are: both zeros are one, NaN is above all."""
    kind = np.int32 if values.dtype == np.float32 else np.int64
    most = np.iinfo(kind).max
    bits = (values + values.dtype.type(0)).view(kind)
    return np.where(np.isnan(values), most, np.where(bits < 0, bits ^ most, bits))


def walked(x: Tensor, nodes: Tensor, trees: int, steps: int, bits: int, between: bool) -> Tensor:
    """What native code computes, level by level."""
    sign = torch.iinfo(nodes.dtype).min
    keys = torch.from_numpy(ranks(x.detach().numpy())).to(nodes.dtype)
    at = torch.arange(trees).expand(x.shape[0], -1)
    for _ in range(steps):
        found = nodes[at]
        word = found[..., 1]
        feature, below = (word & (2**bits - 1), word >> bits) if bits else (word, found[..., 2])
        key = torch.gather(keys, 1, feature.long())
        holds = key < found[..., 0] ^ sign
        if between:
            holds = holds & (key >= found[..., -1] ^ sign)
        at = below.long() + holds
    return at.to(torch.int32).contiguous()


@torch.library.custom_op("strop::walk_trees", mutates_args=())
def walk_trees(x: Tensor, nodes: Tensor, trees: int, steps: int, bits: int, between: bool) -> Tensor:
    """The node at which each row's way down each tree ends."""
    return walked(x, nodes, trees, steps, bits, between)


@walk_trees.register_fake
def _(x: Tensor, nodes: Tensor, trees: int, steps: int, bits: int, between: bool) -> Tensor:
    return x.new_empty((x.shape[0], trees), dtype=torch.int32)


def _node(b: Builder, x: Node, nodes: Node, trees: int, steps: int, bits: int, between: bool) -> Node:
    return b.node("walk_trees", (x, nodes), Type("i32", b.call.shape), trees=trees, steps=steps, bits=bits,
                  between=bool(between))  # fmt: skip


RULES["strop.walk_trees.default"] = _node
