"""Memory of a contender's process: what it holds between calls, the most that it ever held, and what it starts from.

A contender is charged for what a model takes beyond its weights. What it starts from, its frameworks, what the model's
own code imports and whatever the first compilation loads, is measured in another process, in which the same contender
has run a model of one layer.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strop.core.process_memory import trim

if TYPE_CHECKING:
    from torch import nn

#: the model that every contender runs to show what it takes by itself
ONE_LAYER = "strop.bench.memory:one_layer"


def one_layer() -> tuple[nn.Module, tuple[Any, ...]]:
    import torch

    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()).eval(), (torch.randn(2, 8),)


def weight_bytes(model: nn.Module) -> int:
    """What the parameters and buffers of a model take, shared ones counted once."""
    tensors = (*model.parameters(), *model.buffers())
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())


def start_afresh() -> None:
    """Give back what is not in use and begin to look for the largest size anew: what came before was our own doing."""
    gc.collect()
    trim()
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return
