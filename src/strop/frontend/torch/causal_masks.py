"""Masks of `nn.Transformer` whose kind nobody told.

Without `tgt_is_causal` the encoder and the decoder compare the mask with a causal one, number by number, to give
attention a hint. Dynamo cannot trace that look at values: it breaks the graph there and leaves all layers to Python.
Without the hint attention reads the mask itself, which PyTorch says may only be slower, so Dynamo is told of none.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.modules import transformer


def without_a_look(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    """Whether the caller has said that the mask is causal."""
    return is_causal is True


def trace_across() -> None:
    """Have Dynamo, whatever the backend, trace this in the place of the look."""
    torch.compiler.substitute_in_graph(transformer._detect_is_causal_mask)(without_a_look)
