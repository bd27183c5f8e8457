"""Attention with dropout in training, which PyTorch's fused kernel for the CPU does not do.

The same random numbers are drawn in the same order as by `F.dropout` on the weights, so a seeded run repeats what the
written-out form did. Kept for the way back: the weights before dropout and one byte per weight, in place of the weights
twice and four bytes of noise.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from strop.kernels.autograd import can_run
from strop.kernels.native import program
from strop.runtime import bernoulli


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    scale: float | None = None,
) -> Tensor:
    """softmax(q kᵀ · scale + mask) v, the weights dropped with probability `dropout_p`.

    Without dropout, and wherever else PyTorch's operator is as good, this is `scaled_dot_product_attention`.
    """
    alike = q.shape[:-2] == k.shape[:-2] == v.shape[:-2]
    if not 0.0 < dropout_p < 1.0 or not alike or not can_run("", q, k, v, dense=False):
        return F.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, scale=scale)
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    result: Tensor = DroppedAttention.apply(q, k, v, attn_mask, float(dropout_p), factor)  # type: ignore[no-untyped-call]
    return result


class DroppedAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float, scale: float) -> Tensor:
        scores = torch.matmul(q, k.transpose(-2, -1)).mul_(scale)
        if mask is not None and mask.dtype is torch.bool:
            scores = scores.masked_fill(~mask, -math.inf)
        elif mask is not None:
            fits = torch.broadcast_shapes(mask.shape, scores.shape) == scores.shape  # type: ignore[no-untyped-call]
            scores = scores.add_(mask) if fits else scores + mask
        weights = torch.softmax(scores, dim=-1).contiguous()
        noise = bernoulli.draw(scores, 1.0 - p)
        ctx.save_for_backward(q, k, v, mask, weights, noise.bool())
        ctx.numbers = p, scale
        return torch.matmul(noise.div_(1.0 - p).mul_(weights), v)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (g,) = grads
        q, k, v, mask, weights, kept = ctx.saved_tensors
        p, scale = ctx.numbers
        factor = 1.0 / (1.0 - p)
        if torch.is_grad_enabled():
            raise RuntimeError("attention with dropout has no gradient of gradients; use scaled_dot_product_attention")
        sizes = weights.numel() // weights.shape[-1], weights.shape[-1], factor
        drop, through = program("dropped", *sizes), program("dropped_softmax_backward", *sizes)
        inner = torch.matmul(g, v.transpose(-2, -1)).contiguous()
        if drop is None or through is None:
            dropped = (weights * kept).mul_(factor)
            ds = torch._softmax_backward_data(inner.mul_(kept).mul_(factor), weights, -1, weights.dtype)
        else:
            dropped = drop((weights, kept))[0].view(weights.shape)
            ds = through((inner, kept, weights))[0].view(weights.shape)
        dv = torch.matmul(dropped.transpose(-2, -1), g)
        dmask = ds.sum_to_size(mask.shape) if mask is not None and ctx.needs_input_grad[3] else None
        dq = torch.matmul(ds, k).mul_(scale) if ctx.needs_input_grad[0] else None
        dk = torch.matmul(ds.transpose(-2, -1), q).mul_(scale) if ctx.needs_input_grad[1] else None
        return dq, dk, dv if ctx.needs_input_grad[2] else None, dmask, None, None
