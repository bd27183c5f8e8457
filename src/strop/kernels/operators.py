"""The kernels as operators of the dispatcher, `torch.ops.strop.rms_norm` and so on, for graphs that keep them whole.

They are opaque to tracing (with shapes and gradients registered) where the functions of `strop.kernels` show compilers
their formula. On the CPU they run native code; on other devices the formula.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strop.kernels import formulas


def _native(name: str) -> Any:
    import strop.kernels

    return getattr(strop.kernels, name)


@torch.library.custom_op("strop::rms_norm", mutates_args=())
def rms_norm(x: Tensor, weight: Tensor, eps: float, offset: float) -> Tensor:
    return _fresh(_native("rms_norm")(x, weight, eps, offset), x)


@torch.library.custom_op("strop::activation", mutates_args=())
def activation(x: Tensor, name: str) -> Tensor:
    return _fresh(_native("activated")(x, name), x)


@torch.library.custom_op("strop::gate", mutates_args=())
def gate(a: Tensor, b: Tensor, name: str) -> Tensor:
    return _fresh(_native("gated_by_name")(a, b, name), a)


@torch.library.custom_op("strop::rotary", mutates_args=())
def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return _fresh(_native("rotary")(x, cos, sin), x)


def _fresh(result: Tensor, x: Tensor) -> Tensor:
    """Operators promise a contiguous result that shares no memory with their inputs."""
    return result.contiguous() if result.data_ptr() != x.data_ptr() else result.clone()


def _like_first(x: Tensor, *rest: Any) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _register(op: Any, formula: Any, tensors: int) -> None:
    def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:tensors])
        ctx.rest = inputs[tensors:]

    def back(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        with torch.enable_grad():
            inputs = [one.detach().requires_grad_() for one in ctx.saved_tensors]
            gradients = torch.autograd.grad(formula(*inputs, *ctx.rest), inputs, g)
        return (*gradients, *(None for _ in ctx.rest))

    op.register_fake(_like_first)
    op.register_autograd(back, setup_context=keep)


_register(rms_norm, formulas.rms_norm, 2)
_register(rotary, formulas.rotary, 3)
_register(activation, formulas.activation, 1)
_register(gate, formulas.gate, 2)
