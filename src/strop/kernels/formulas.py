"""What each kernel computes, in PyTorch's own operators.

This is the definition, the way for everything that native code does not handle (other devices and dtypes, strides,
tracing, transformations, gradients of gradients), and what the tests compare with. Half-precision inputs are computed
in float32 and rounded where the usual model code rounds.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def rms_norm(x: Tensor, weight: Tensor | None, eps: float, offset: float) -> Tensor:
    """With an offset (Gemma's `1 + weight`) the product is rounded once, without one the normalised input is, too."""
    wide = x if x.dtype == torch.float64 else x.float()
    normal = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    if weight is None:
        return normal.to(x.dtype)
    if offset:
        return (normal * (offset + weight.to(wide.dtype))).to(x.dtype)
    return weight * normal.to(x.dtype)


def quick_gelu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


def activation(x: Tensor, name: str) -> Tensor:
    if name == "silu":
        return F.silu(x)
    if name == "quick_gelu":
        return quick_gelu(x)
    return F.gelu(x, approximate="tanh" if name == "gelu_tanh" else "none")


def gate(a: Tensor, b: Tensor, name: str) -> Tensor:
    return activation(a, name) * b


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def rotary_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    even, odd = x[..., ::2], x[..., 1::2]
    return x * cos + torch.stack((-odd, even), dim=-1).flatten(-2) * sin
