"""Which of the known activations a module or function is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_FUNCTIONS: dict[Any, str] = {F.silu: "silu", F.gelu: "gelu", torch.nn.functional.silu: "silu"}
#: classes of `transformers.activations`, by name, since that package need not be there
_NAMED = {
    "SiLUActivation": "silu",
    "NewGELUActivation": "gelu_tanh",
    "GELUTanh": "gelu_tanh",
    "PytorchGELUTanh": "gelu_tanh",
    "QuickGELUActivation": "quick_gelu",
}


def name_of(activation: Callable[[Tensor], Tensor]) -> str | None:
    """silu, gelu, gelu_tanh, quick_gelu, or None for what is none of them or watched by hooks."""
    kind = type(activation)
    if kind is nn.SiLU or kind is nn.GELU:
        return None if _has_hooks(activation) else _of_torch(activation)
    if kind.__module__ == "transformers.activations" and kind.__name__ in _NAMED:
        return None if _has_hooks(activation) else _NAMED[kind.__name__]
    try:
        return _FUNCTIONS.get(activation)
    except TypeError:  # not hashable
        return None


def _of_torch(activation: Any) -> str:
    if isinstance(activation, nn.SiLU):
        return "silu"
    return "gelu_tanh" if activation.approximate == "tanh" else "gelu"


def _has_hooks(module: Any) -> bool:
    hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks)
    return any(hooks)
