"""Attention in its many forms, and rotary positions."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from strop.frontend.onnx.element_types import dtype_of
from strop.frontend.onnx.ops import OnnxCall, Subgraph, Unsupported, onnx

#: time steps of a recurrence that are written out one after the other
LONGEST_RECURRENCE = 512


@onnx("Attention")
def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, past_key: Tensor | None = None,
    past_value: Tensor | None = None, nonpad: Tensor | None = None, *, is_causal: int = 0,
    kv_num_heads: int | None = None, q_num_heads: int | None = None, qk_matmul_output_mode: int = 0,
    scale: float | None = None, softcap: float = 0.0, softmax_precision: int | None = None,
    left_window_size: int = -1, right_window_size: int = -1, node: OnnxCall,
) -> Tensor | tuple[Tensor, ...]:  # fmt: skip
    flat = q.dim() == 3
    if flat:
        if q_num_heads is None or kv_num_heads is None:
            raise Unsupported("inputs of three dimensions need the numbers of heads")
        q, k, v = _heads(q, q_num_heads), _heads(k, kv_num_heads), _heads(v, kv_num_heads)
    past = 0
    if past_key is not None and past_value is not None:
        past = past_key.shape[2]
        k, v = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    offset: Tensor | int = past if nonpad is None else nonpad.reshape(-1, 1, 1, 1) - q.shape[2]
    plain = not softcap and not node.wants(3) and softmax_precision in (None, _precision(q))
    windowed = left_window_size >= 0 or right_window_size >= 0
    if plain and nonpad is None and not windowed and not past and (mask is None or not is_causal):
        y = _whole(q, k, v, mask, factor, bool(is_causal))
        return (_joined(y) if flat else y), k, v
    allowed = _allowed(q, k, offset, bool(is_causal), left_window_size, right_window_size, nonpad)
    bias = _bias(q, k, mask, allowed)
    groups = q.shape[1] // k.shape[1]
    keys, values = (k, v) if groups == 1 else (k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1))
    root = math.sqrt(factor)
    scores = torch.matmul(q * root, (keys * root).transpose(-1, -2))
    shown = scores
    if softcap:
        scores = torch.tanh(scores / softcap) * softcap
        shown = scores if qk_matmul_output_mode == 1 else shown
    if bias is not None:
        scores = scores + bias
    shown = scores if qk_matmul_output_mode == 2 else shown
    if softmax_precision is not None:
        scores = scores.to(dtype_of(softmax_precision))
    weights = _rows(scores, bias).to(q.dtype)
    shown = weights if qk_matmul_output_mode == 3 else shown
    y = torch.matmul(weights, values)
    return (_joined(y) if flat else y), k, v, shown


def _precision(q: Tensor) -> int:
    from strop.frontend.onnx.element_types import OF_DTYPE

    return OF_DTYPE.get(q.dtype, 0)


def _heads(x: Tensor, count: int) -> Tensor:
    return x.reshape(x.shape[0], x.shape[1], count, -1).transpose(1, 2)


def _joined(y: Tensor) -> Tensor:
    return y.transpose(1, 2).reshape(y.shape[0], y.shape[2], -1)


def _whole(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float, causal: bool) -> Tensor:
    grouped = q.shape[1] != k.shape[1]
    if mask is not None and mask.shape[-1] < k.shape[2]:
        mask = F.pad(mask, [0, k.shape[2] - mask.shape[-1]], value=False if mask.dtype == torch.bool else -math.inf)
    y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale, enable_gqa=grouped)
    if mask is None:
        return y
    reached = mask if mask.dtype == torch.bool else mask > -math.inf
    return torch.where(reached.any(-1, keepdim=True), y, torch.zeros_like(y))  # a row without any key gives zeros


def _allowed(
    q: Tensor, k: Tensor, offset: Tensor | int, causal: bool, left: int, right: int, nonpad: Tensor | None
) -> Tensor | None:
    """Which query may look at which key, masks aside."""
    rows = torch.arange(q.shape[2]).reshape(-1, 1) + offset
    columns = torch.arange(k.shape[2])
    found: list[Tensor] = []
    if causal:
        found.append(columns <= rows)
    if left >= 0:
        found.append(rows - columns <= left)
    if right >= 0:
        found.append(columns - rows <= right)
    if nonpad is not None:
        found.append(columns < nonpad.reshape(-1, 1, 1, 1))
    allowed = found[0] if found else None
    for more in found[1:]:
        allowed = torch.logical_and(allowed, more) if allowed is not None else more
    return allowed


def _bias(q: Tensor, k: Tensor, mask: Tensor | None, allowed: Tensor | None) -> Tensor | None:
    """What is added to the scores: zero, a float mask, or minus infinity."""
    if mask is not None and mask.shape[-1] < k.shape[2]:
        mask = F.pad(mask, [0, k.shape[2] - mask.shape[-1]], value=False if mask.dtype == torch.bool else -math.inf)
    never = torch.full((), -math.inf, dtype=q.dtype)
    bias = None
    if mask is not None:
        bias = torch.where(mask, torch.zeros((), dtype=q.dtype), never) if mask.dtype == torch.bool else mask
    if allowed is not None:
        base = torch.zeros((), dtype=q.dtype) if bias is None else bias
        bias = torch.where(allowed, base, never)
    return bias


def _rows(scores: Tensor, bias: Tensor | None) -> Tensor:
    """Softmax, with zeros in a row that may look at nothing."""
    weights = torch.softmax(scores, -1)
    if bias is None:
        return weights
    reached = (bias > -math.inf).any(-1, keepdim=True)
    return torch.where(reached, weights, torch.zeros_like(weights))


@onnx("FlexAttention", domain="ai.onnx.preview", since=1)
def flex_attention(
    q: Tensor, k: Tensor, v: Tensor, *, prob_mod: Subgraph | None = None, scale: float | None = None,
    score_mod: Subgraph | None = None, softmax_precision: int | None = None,
) -> Tensor:  # fmt: skip
    """Attention whose scores and probabilities go through graphs of the model."""
    wide = dtype_of(softmax_precision) if softmax_precision else None
    wide = wide or (torch.float64 if q.dtype == torch.float64 else torch.float32)
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = (torch.matmul(q, k.transpose(-1, -2)) * factor).to(wide)
    if score_mod is not None:
        scores = score_mod(scores)[0]
    weights = torch.softmax(scores, -1)
    if prob_mod is not None:
        weights = prob_mod(weights)[0]
    return torch.matmul(weights.to(v.dtype), v)


@onnx("LinearAttention")
def linear_attention(
    q: Tensor, k: Tensor, v: Tensor, past: Tensor | None = None, decay: Tensor | None = None,
    beta: Tensor | None = None, *, chunk_size: int = 64, kv_num_heads: int, q_num_heads: int, scale: float = 0.0,
    update_rule: str = "gated_delta",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """A state per head that every time step decays, corrects and reads."""
    steps = q.shape[1]
    if steps > LONGEST_RECURRENCE:
        raise Unsupported(f"linear attention over {steps} time steps")
    kind = q.dtype if past is None else past.dtype
    wide = torch.float64 if kind == torch.float64 else torch.float32
    queries, keys, values = (_heads(x, n).to(wide) for x, n in ((q, q_num_heads), (k, kv_num_heads), (v, kv_num_heads)))
    groups = q_num_heads // kv_num_heads
    factor = scale or 1 / math.sqrt(queries.shape[-1])
    shape = (q.shape[0], kv_num_heads, keys.shape[-1], values.shape[-1])
    state = torch.zeros(shape, dtype=wide) if past is None else past.to(wide)
    gates = None if decay is None or "gated" not in update_rule else _heads(decay, kv_num_heads).to(wide)
    rates = None if beta is None or "delta" not in update_rule else _per_head(beta, kv_num_heads).to(wide)
    outputs = []
    for t in range(steps):
        key, value = keys[:, :, t].unsqueeze(-1), values[:, :, t].unsqueeze(-2)
        if gates is not None:
            state = state * torch.exp(gates[:, :, t]).unsqueeze(-1)
        if "delta" in update_rule:
            value = value - torch.matmul(key.transpose(-1, -2), state)
            if rates is not None:
                value = value * rates[:, :, t].unsqueeze(-1)
        state = state + key * value
        seen = state.repeat_interleave(groups, 1) if groups > 1 else state
        outputs.append(torch.matmul(queries[:, :, t].unsqueeze(-2), seen) * factor)
    return _joined(torch.cat(outputs, 2)).to(q.dtype), state.to(kind)


def _per_head(x: Tensor, heads: int) -> Tensor:
    """One rate per head and step, or one per step for all heads."""
    return x.reshape(x.shape[0], x.shape[1], -1, 1).transpose(1, 2)


@onnx("RotaryEmbedding")
def rotary_embedding(
    x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor | None = None, *, interleaved: int = 0,
    num_heads: int = 0, rotary_embedding_dim: int = 0,
) -> Tensor:  # fmt: skip
    """Pairs of a head's elements turned by an angle that grows with the position."""
    if x.dim() == 3 and not num_heads:
        raise Unsupported("an input of three dimensions needs the number of heads")
    heads = _heads(x, num_heads) if x.dim() == 3 else x
    width = rotary_embedding_dim or heads.shape[-1]
    if positions is not None:
        cos, sin = cos[positions.to(torch.int64)], sin[positions.to(torch.int64)]
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    turned, rest = heads[..., :width], heads[..., width:]
    if interleaved:
        a, b = turned[..., 0::2], turned[..., 1::2]
    else:
        a, b = turned[..., : width // 2], turned[..., width // 2 :]
    first, second = cos * a - sin * b, sin * a + cos * b
    if interleaved:
        joined = torch.stack([first, second], -1).reshape(turned.shape)
    else:
        joined = torch.cat([first, second], -1)
    whole = torch.cat([joined, rest], -1) if width < heads.shape[-1] else joined
    return _joined(whole) if x.dim() == 3 else whole
