"""The kernels with their gradients: native programs inside `autograd.Function`, and as operators `torch.ops.strop.…`.

A gradient that is itself to be differentiated goes through the formula instead, so that any order works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from strop.kernels import formulas
from strop.kernels.native import program

#: below so many elements, calling native code costs more than it wins (measured forward and backward)
SMALLEST = {"rms_norm": 4096, "rotary": 16384, "silu": 65536, "gelu": 32768, "gelu_tanh": 16384, "quick_gelu": 32768}
_PLAIN = (Tensor, torch.nn.Parameter)
_LONGEST_ROW = 8192
_Sizes = tuple[int, int]


def can_run(name: str, *tensors: Tensor, dense: bool = True) -> bool:
    """Whether native code takes these: plain float32 tensors on the CPU, large enough, outside of transformations."""
    if tensors[0].numel() < SMALLEST.get(name, 0):
        return False
    for tensor in tensors:
        if type(tensor) not in _PLAIN or tensor.dtype is not torch.float32 or not tensor.is_cpu:
            return False
        if dense and not tensor.is_contiguous():
            return False
    return not (
        torch.compiler.is_compiling()
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch._C._len_torch_dispatch_stack()
        or torch._C._is_any_autocast_enabled()
        or torch._C._is_tracing()
    )


def flat(x: Tensor) -> _Sizes:
    """An elementwise kernel's tensor as rows: its own, or as even a division as its number of elements allows."""
    count, length = x.numel(), x.shape[-1] if x.dim() else 1
    if 64 <= length <= _LONGEST_ROW:
        return count // length, length
    for length in (1024, 512, 256, 768, 640, 128, 192, 96, 64):
        if count % length == 0:
            return count // length, length
    return 0, 0


def rows_of(x: Tensor) -> _Sizes:
    return x.numel() // x.shape[-1], x.shape[-1]


def _again(formula: Callable[..., Tensor], inputs: tuple[Tensor | None, ...], g: Tensor) -> tuple[Tensor | None, ...]:
    """Gradients through the formula, differentiable in turn."""
    with torch.enable_grad():
        wanted = [one for one in inputs if one is not None and one.requires_grad]
        found = iter(torch.autograd.grad(formula(*inputs), wanted, g, create_graph=True))
    return tuple(next(found) if one is not None and one.requires_grad else None for one in inputs)


class RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float, offset: float) -> Tensor:
        count, length = rows_of(x)
        forward = program("rms_norm", count, length, eps, offset)
        if forward is None:
            ctx.save_for_backward(x, weight)
            ctx.numbers, ctx.native = (eps, offset), False
            return formulas.rms_norm(x, weight, eps, offset)
        y, scale = forward((x, weight))
        ctx.save_for_backward(x, weight, scale)
        ctx.numbers, ctx.native = (eps, offset), True
        return y.view(x.shape)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (g,) = grads
        x, weight, *rest = ctx.saved_tensors
        eps, offset = ctx.numbers
        count, length = rows_of(x)
        weighted = ctx.needs_input_grad[1]
        backward = program("rms_norm_backward", count, length, offset, weighted) if ctx.native else None
        if torch.is_grad_enabled() or backward is None or g.dtype is not torch.float32:
            dx, dw = _again(lambda a, b: formulas.rms_norm(a, b, eps, offset), (x, weight), g)
            return dx, dw, None, None
        made_dx, *made_dw = backward((g.contiguous(), x, weight, rest[0]))
        return made_dx.view(x.shape), made_dw[0] if weighted else None, None, None


class Rotary(torch.autograd.Function):
    """`sizes` are those of the nest, as `positions_of` finds them, and whether pairs are turned or halves."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, sizes: tuple[Any, ...]) -> Tensor:
        ctx.save_for_backward(x, cos, sin)
        ctx.sizes = sizes
        return _turned(x, cos, sin, sizes, False)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (g,) = grads
        x, cos, sin = ctx.saved_tensors
        if torch.is_grad_enabled():
            return (*_again(_formula(ctx.sizes), (x, cos, sin), g), None)
        return _turned(g, cos, sin, ctx.sizes, True), None, None, None


def positions_of(x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Any, ...] | None:
    """How x[batch, heads, positions, size] lies in memory, as sizes of the nest; None if native code cannot walk it."""
    if x.dim() != 4 or cos.shape != sin.shape or cos.requires_grad or sin.requires_grad or x.shape[-1] % 2:
        return None
    batch, heads, positions, size = x.shape
    shape = cos.shape[:-3] + cos.shape[-2:] if cos.dim() == 4 and cos.shape[1] == 1 else cos.shape
    if shape not in ((positions, size), (1, positions, size), (batch, positions, size)):
        return None
    batches = 1 if len(shape) == 2 else shape[0]
    swapped = x.transpose(1, 2).is_contiguous()
    if not swapped and not x.is_contiguous():
        return None
    order = (positions, heads) if swapped else (heads, positions)
    return (batch, *order, size // 2, batches, not swapped)


def _formula(sizes: tuple[Any, ...]) -> Callable[..., Tensor]:
    return formulas.rotary_pairs if sizes[-1] else formulas.rotary


def _turned(x: Tensor, cos: Tensor, sin: Tensor, sizes: tuple[Any, ...], back: bool) -> Tensor:
    by_inner, pairs = sizes[-2:]
    run = program("rotary", *sizes, back)
    if run is None or x.dtype is not torch.float32:
        if not back:
            return _formula(sizes)(x, cos, sin)
        moved = x * sin
        if pairs:
            return x * cos + torch.stack((moved[..., 1::2], -moved[..., ::2]), dim=-1).flatten(-2)
        first, second = moved.chunk(2, dim=-1)
        return x * cos + torch.cat((second, -first), dim=-1)
    dense = x.contiguous() if by_inner else x.transpose(1, 2).contiguous()
    y = run((dense, cos, sin))[0]
    return y if by_inner else y.transpose(1, 2)


class ActivationFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, name: str) -> Tensor:
        ctx.save_for_backward(x)
        ctx.name = name
        forward = program("activation", *flat(x), name)
        return formulas.activation(x, name) if forward is None else forward((x,))[0].view(x.shape)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (g,) = grads
        (x,) = ctx.saved_tensors
        backward = None if torch.is_grad_enabled() else program("activation_backward", *flat(x), ctx.name)
        if backward is None or g.dtype is not torch.float32:
            return (*_again(lambda a: formulas.activation(a, ctx.name), (x,), g), None)
        return backward((g.contiguous(), x))[0].view(x.shape), None


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, name: str) -> Tensor:
        ctx.save_for_backward(a, b)
        ctx.name = name
        forward = program("gate", *flat(a), name)
        return formulas.gate(a, b, name) if forward is None else forward((a, b))[0].view(a.shape)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (g,) = grads
        a, b = ctx.saved_tensors
        backward = None if torch.is_grad_enabled() else program("gate_backward", *flat(a), ctx.name)
        if backward is None or g.dtype is not torch.float32:
            return (*_again(lambda p, q: formulas.gate(p, q, ctx.name), (a, b), g), None)
        da, db = backward((g.contiguous(), a, b))
        return da.view(a.shape), db.view(b.shape), None
