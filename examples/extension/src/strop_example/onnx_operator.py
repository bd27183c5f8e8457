"""An ONNX operator: `QuickGelu` of the domain `strop.example`."""

import torch

from strop import extend


@extend.onnx_operator("strop.example::QuickGelu")
def quick_gelu(x: torch.Tensor, *, alpha: float = 1.702) -> torch.Tensor:
    """Inputs come by position; what follows `*` are the attributes of the node."""
    if not x.is_floating_point():
        raise extend.Unsupported(f"QuickGelu of {x.dtype}")
    return x * torch.sigmoid(alpha * x)
