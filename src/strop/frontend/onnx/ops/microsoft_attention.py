"""Attention as ONNX Runtime's optimiser fuses it (domain com.microsoft), where it is simple: no shared caches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from strop.frontend.onnx.ops import Unsupported, onnx

microsoft = partial(onnx, domain="com.microsoft", since=1)


def _heads(x: Tensor, heads: int) -> Tensor:
    """[batch, sequence, heads·size] → [batch, heads, sequence, size]."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)


def _attended(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float | None, causal: bool
) -> Tensor:  # fmt: skip
    """Heads attend and are put together again: [batch, sequence, heads·size]."""
    if causal:
        queries, keys = q.shape[-2], k.shape[-2]
        seen = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
        hidden = torch.where(seen, 0.0, -math.inf).to(q.dtype)
        mask = hidden if mask is None else mask + hidden
    result = F.scaled_dot_product_attention(q, k, v, mask, scale=scale or None)
    return result.transpose(1, 2).flatten(2)


def _padding(mask: Tensor, queries: int, keys: int, filler: float, dtype: torch.dtype) -> Tensor:
    """A mask of tokens ([batch, keys], or of pairs [batch, queries, keys]) or of lengths ([batch]) as what is added."""
    if mask.dim() == 1:
        mask = (torch.arange(keys) < mask.unsqueeze(1)).to(torch.int32)
    if mask.dim() == 2:
        mask = mask[:, None, None, :]
    elif mask.dim() == 3:
        mask = mask[:, None]
    if mask.shape[-1] != keys or mask.shape[-2] not in (1, queries):
        raise Unsupported(f"a mask of shape {list(mask.shape)} for {queries} queries and {keys} keys")
    return torch.where(mask > 0, 0.0, filler).to(dtype)


def _sum(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    return b if a is None else a if b is None else a + b


@microsoft("Attention")
def attention(
    x: Tensor, weights: Tensor, bias: Tensor | None = None, mask_index: Tensor | None = None,
    past: Tensor | None = None, attention_bias: Tensor | None = None, past_sequence_length: Tensor | None = None, *,
    num_heads: int, unidirectional: int = 0, qkv_hidden_sizes: Sequence[int] | None = None, scale: float = 0.0,
    mask_filter_value: float = -10000.0, do_rotary: int = 0, past_present_share_buffer: int = 0,
    rotary_embedding_dim: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Self-attention with its projection. Results: the output, the keys and values so far."""
    if do_rotary or past_present_share_buffer or past_sequence_length is not None:
        raise Unsupported("rotary embeddings or a shared cache inside Attention")
    if mask_index is not None and mask_index.dim() == 1 and mask_index.shape[0] != x.shape[0]:
        raise Unsupported("masks by start and end of each sequence")
    sizes = list(qkv_hidden_sizes or [weights.shape[1] // 3] * 3)
    projected = F.linear(x, weights.t(), bias)
    q, k, v = (_heads(part, num_heads) for part in torch.split(projected, sizes, -1))
    if past is not None:
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    mask = None
    if mask_index is not None:
        mask = _padding(mask_index, q.shape[2], k.shape[2], mask_filter_value, x.dtype)
    result = _attended(q, k, v, _sum(mask, attention_bias), scale, bool(unidirectional))
    return (result, torch.stack([k, v])) if k.shape == v.shape else (result,)


@microsoft("MultiHeadAttention")
def multi_head_attention(
    query: Tensor, key: Tensor | None = None, value: Tensor | None = None, bias: Tensor | None = None,
    key_padding_mask: Tensor | None = None, attention_bias: Tensor | None = None, past_key: Tensor | None = None,
    past_value: Tensor | None = None, past_sequence_length: Tensor | None = None,
    cache_indirection: Tensor | None = None, *, num_heads: int, mask_filter_value: float = -10000.0,
    scale: float = 0.0, unidirectional: int = 0,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Results: the output, all keys, all values. Keys and values may come with their heads apart, or with the query."""
    if past_sequence_length is not None or cache_indirection is not None:
        raise Unsupported("a shared cache")
    if query.dim() == 5:  # [batch, sequence, heads, 3, size]
        q, k, v = (part.squeeze(3).transpose(1, 2) for part in query.chunk(3, 3))
    elif key is None:
        raise Unsupported("a query without keys")
    elif key.dim() == 5:  # [batch, keys, heads, 2, size]
        q = _heads(query, num_heads)
        k, v = (part.squeeze(3).transpose(1, 2) for part in key.chunk(2, 3))
    elif value is None:
        raise Unsupported("keys without values")
    else:
        q = query
        k, v = key, value
        if bias is not None:
            widths = [x.shape[-1] if x.dim() == 3 else q.shape[-1] for x in (q, k, v)]
            parts = torch.split(bias, widths)
            q = q + parts[0]
            k, v = (x + b if x.dim() == 3 else x for x, b in zip((k, v), parts[1:]))
        q = _heads(q, num_heads)
        k, v = (_heads(x, num_heads) if x.dim() == 3 else x for x in (k, v))
    if past_key is not None and past_value is not None:
        k, v = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
    mask = None
    if key_padding_mask is not None:
        mask = _padding(key_padding_mask, q.shape[2], k.shape[2], mask_filter_value, q.dtype)
    return _attended(q, k, v, _sum(mask, attention_bias), scale, bool(unidirectional)), k, v


@microsoft("RotaryEmbedding")
def rotary_embedding(
    x: Tensor, position_ids: Tensor, cos_cache: Tensor, sin_cache: Tensor, *, interleaved: int = 0,
    is_packed_batching: int = 0, num_heads: int = 0, rotary_embedding_dim: int = 0, scale: float = 1.0,
) -> Tensor:  # fmt: skip
    """Pairs of features turn by an angle that grows with the position."""
    size = 2 * cos_cache.shape[1]
    rotated = rotary_embedding_dim or size
    if x.dim() == 3:
        heads = num_heads or x.shape[2] // size
        apart = x.reshape(*x.shape[:2], heads, -1)
    else:
        apart = x.transpose(1, 2)
    batch, length = apart.shape[:2]
    positions = position_ids
    if position_ids.numel() == 1 and length != 1:
        positions = position_ids.reshape(1, 1) + torch.arange(length)
    positions = positions.expand(batch, length)
    cos, sin = (F.embedding(positions, cache).unsqueeze(2) for cache in (cos_cache, sin_cache))
    turning, rest = apart[..., :rotated], apart[..., rotated:]
    if interleaved:
        a, b = turning[..., ::2], turning[..., 1::2]
        turned = torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
    else:
        a, b = turning.chunk(2, -1)
        turned = torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
    result = torch.cat([turned, rest], -1) if rest.shape[-1] else turned
    return result.reshape(x.shape) if x.dim() == 3 else result.transpose(1, 2)
