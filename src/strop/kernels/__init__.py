"""Strop's own kernels as PyTorch functions, for what PyTorch has no fast operator for on a CPU.

    from strop import kernels

    y = kernels.rms_norm(x, weight, eps=1e-6)         # offset=1.0 for Gemma's `1 + weight`
    y = kernels.swiglu(gate, up)                      # silu(gate) * up
    y = kernels.geglu(gate, up, approximate="tanh")   # gelu(gate) * up
    y = kernels.gated(self.act, gate, up)             # any activation; native for SiLU and the GELUs
    y = kernels.gelu(x, approximate="tanh")
    y = kernels.quick_gelu(x)                         # x * sigmoid(1.702 * x)
    q = kernels.rotary(q, cos, sin)                   # q * cos + rotate_half(q) * sin; `rotary_pairs` for GPT-J's
    y = kernels.folded_norm(self.conv, self.bn, x)    # bn(conv(x)); in eval mode as one convolution
    y = kernels.attention(q, k, v, mask, dropout_p=p) # with dropout in training; without, PyTorch's own

Native code is made for each shape when it first occurs, and kept on disk; its gradients are native, too. What it does
not handle runs in PyTorch's own operators: other devices and dtypes, tensors that are not contiguous or small, tracing
and compilation, `torch.func`, gradients of gradients. The same functions are operators under `torch.ops.strop`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch.nn.functional as F
from torch import Tensor

from strop.kernels import formulas, operators
from strop.kernels.activations import name_of
from strop.kernels.attention import attention
from strop.kernels.autograd import ActivationFunction, Gate, RmsNorm, Rotary, can_run, flat, positions_of
from strop.kernels.norms import folded_norm

__all__ = [
    "attention",
    "folded_norm",
    "gated",
    "geglu",
    "gelu",
    "operators",
    "quick_gelu",
    "rms_norm",
    "rotary",
    "rotary_pairs",
    "swiglu",
]

Approximation = Literal["none", "tanh"]


def rms_norm(x: Tensor, weight: Tensor | None = None, eps: float = 1e-6, offset: float = 0.0) -> Tensor:
    """x / √(mean x² + eps) · (weight + offset) over the last dimension."""
    if weight is None and can_run("rms_norm", x):
        weight = x.new_ones(x.shape[-1])
    if weight is None or weight.shape != x.shape[-1:] or not can_run("rms_norm", x, weight):
        return formulas.rms_norm(x, weight, eps, offset)
    result: Tensor = RmsNorm.apply(x, weight, float(eps), float(offset))  # type: ignore[no-untyped-call]
    return result


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """silu(gate) · up."""
    return gated_by_name(gate, up, "silu")


def geglu(gate: Tensor, up: Tensor, approximate: Approximation = "none") -> Tensor:
    """gelu(gate) · up."""
    return gated_by_name(gate, up, "gelu_tanh" if approximate == "tanh" else "gelu")


def gelu(x: Tensor, approximate: Approximation = "none") -> Tensor:
    """GELU; PyTorch's own operator is as fast where nothing is approximated."""
    return activated(x, "gelu_tanh") if approximate == "tanh" else F.gelu(x)


def quick_gelu(x: Tensor) -> Tensor:
    """x · σ(1.702 x)."""
    return activated(x, "quick_gelu")


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x · cos + rotate_half(x) · sin, where rotate_half swaps the halves of the last dimension, the first negated.

    x is [batch, heads, positions, size] in native code; cos and sin need not have the heads.
    """
    return _turned(x, cos, sin, pairs=False)


def rotary_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x · cos + rotate(x) · sin, where rotate swaps neighbours in the last dimension, the first of a pair negated."""
    return _turned(x, cos, sin, pairs=True)


def _turned(x: Tensor, cos: Tensor, sin: Tensor, pairs: bool) -> Tensor:
    sizes = positions_of(x, cos, sin) if can_run("rotary", x, dense=False) and can_run("", cos, sin) else None
    if sizes is None:
        return formulas.rotary_pairs(x, cos, sin) if pairs else formulas.rotary(x, cos, sin)
    result: Tensor = Rotary.apply(x, cos, sin, (*sizes, pairs))  # type: ignore[no-untyped-call]
    return result


def gated(activation: Callable[[Tensor], Tensor], gate: Tensor, up: Tensor) -> Tensor:
    """activation(gate) · up; one kernel where the activation is one of those that are known."""
    name = name_of(activation)
    return activation(gate) * up if name is None else gated_by_name(gate, up, name)


def gated_by_name(a: Tensor, b: Tensor, name: str) -> Tensor:
    """activation(a) · b, for the activations silu, gelu, gelu_tanh and quick_gelu."""
    if a.shape != b.shape or not can_run(name, a, b) or not flat(a)[0]:
        return formulas.gate(a, b, name)
    result: Tensor = Gate.apply(a, b, name)  # type: ignore[no-untyped-call]
    return result


def activated(x: Tensor, name: str) -> Tensor:
    if not can_run(name, x) or not flat(x)[0]:
        return formulas.activation(x, name)
    result: Tensor = ActivationFunction.apply(x, name)  # type: ignore[no-untyped-call]
    return result
