"""Memory of a contender's process: what it holds between calls, the most that it ever held, and what it starts from.

A contender is charged for what a model takes beyond its weights. What it starts from, its frameworks and whatever the
first compilation loads, is measured in another process, in which the same contender has run a model of one layer.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

#: the model that every contender runs to show what it takes by itself
ONE_LAYER = "strop.run.bench_memory:one_layer"


def one_layer() -> tuple[nn.Module, tuple[Any, ...]]:
    import torch

    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()).eval(), (torch.randn(2, 8),)


def weight_bytes(model: nn.Module) -> int:
    """What the parameters and buffers of a model take, shared ones counted once."""
    tensors = (*model.parameters(), *model.buffers())
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())


def resident_mb() -> float | None:
    """What this process holds now; None where the system does not tell."""
    return _status("VmRSS")


def peak_rss_mb() -> float:
    """The most that this process ever held, from the kernel's own mark: getrusage's survives exec from the parent."""
    found = _status("VmHWM")
    if found is not None:
        return found
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def start_afresh() -> None:
    """Give back what is not in use and begin to look for the largest size anew: what came before was our own doing."""
    gc.collect()
    trim()
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def trim() -> None:
    """Have the allocator give free memory back to the system, where it can."""
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back is not None:
        give_back(0)


def _status(entry: str) -> float | None:
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split(f"{entry}:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        return None
