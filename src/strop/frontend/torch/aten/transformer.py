"""The fused operators that `nn.TransformerEncoderLayer` and `nn.MultiheadAttention` call in inference, written out."""

from __future__ import annotations

import math

from strop.frontend.torch.aten.activations import gelu, relu
from strop.frontend.torch.aten.nn import layer_norm
from strop.frontend.torch.builder import Builder
from strop.frontend.torch.registry import Unfit, aten
from strop.graph.ir import Node, Type


@aten("_transformer_encoder_layer_fwd")
def encoder_layer(
    b: Builder, x: Node, width: int, heads: int, qkv_weight: Node, qkv_bias: Node, out_weight: Node, out_bias: Node,
    use_gelu: bool, norm_first: bool, eps: float, norm_weight: Node, norm_bias: Node, norm_weight_2: Node,
    norm_bias_2: Node, up_weight: Node, up_bias: Node, down_weight: Node, down_bias: Node, mask: Node | None = None,
    mask_type: int | None = None,
) -> Node:  # fmt: skip
    def attend(y: Node) -> Node:
        return _self_attention(b, y, heads, qkv_weight, qkv_bias, out_weight, out_bias, mask, mask_type)

    def feed_forward(y: Node) -> Node:
        hidden = b.linear(y, up_weight, up_bias)
        return b.linear(gelu(b, hidden) if use_gelu else relu(b, hidden), down_weight, down_bias)

    def norm(y: Node) -> Node:
        return layer_norm(b, y, (width,), norm_weight, norm_bias, eps)

    def norm_2(y: Node) -> Node:
        return layer_norm(b, y, (width,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = b.add(x, attend(norm(x)))
        return b.add(x, feed_forward(norm_2(x)))
    x = norm(b.add(x, attend(x)))
    return norm_2(b.add(x, feed_forward(x)))


@aten("_native_multi_head_attention")
def multi_head_attention(
    b: Builder, q: Node, k: Node, v: Node, width: int, heads: int, qkv_weight: Node, qkv_bias: Node, out_weight: Node,
    out_bias: Node, mask: Node | None = None, need_weights: bool = True, average: bool = True,
    mask_type: int | None = None,
) -> tuple[Node, ...]:  # fmt: skip
    if q is not k or k is not v:
        raise Unfit("fused attention over different tensors")
    if 1 in b.call.used:
        raise Unfit("the weights of fused attention")
    out = _self_attention(b, q, heads, qkv_weight, qkv_bias, out_weight, out_bias, mask, mask_type)
    return out, out


def _self_attention(
    b: Builder, x: Node, heads: int, qkv_weight: Node, qkv_bias: Node, out_weight: Node, out_bias: Node,
    mask: Node | None, mask_type: int | None,
) -> Node:  # fmt: skip
    batch, length, width = x.shape
    projected = b.reshape(b.linear(x, qkv_weight, qkv_bias), (batch, length, 3, heads, width // heads))
    apart = b.permute(projected, (2, 0, 3, 1, 4))
    inputs = [b.select(apart, 0, i) for i in range(3)]
    if mask is not None:
        inputs.append(_keep(b, mask, mask_type))
    attended = b.node("attention", inputs, Type(x.dtype, (batch, heads, length, width // heads)),
                      scale=1 / math.sqrt(width // heads), causal=False, gqa=False)  # fmt: skip
    together = b.reshape(b.permute(attended, (0, 2, 1, 3)), x.shape)
    return b.linear(together, out_weight, out_bias)


def _keep(b: Builder, mask: Node, kind: int | None) -> Node:
    """Fused operators leave out what is not zero (True, or minus infinity); kind 1 is a row per batch element."""
    keep = b.unary("not", b.cast(mask, "bool"))
    return b.reshape(keep, (keep.shape[0], 1, 1, keep.shape[1])) if kind == 1 else keep
