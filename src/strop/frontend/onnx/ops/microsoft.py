"""Operators of the domain com.microsoft that exporters and ONNX Runtime's optimiser write into files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from strop.frontend.onnx.ops import Unsupported, find, onnx

microsoft = partial(onnx, domain="com.microsoft", since=1)


# ---- products and convolutions with what was fused into them ----


@microsoft("FusedMatMul")
@microsoft("TransposeMatMul")
def fused_matmul(
    a: Tensor, b: Tensor, *, alpha: float = 1.0, transA: int = 0, transB: int = 0, transBatchA: int = 0,
    transBatchB: int = 0,
) -> Tensor:  # fmt: skip
    """transBatch: the batch dimensions come after the rows, which then are the first dimension."""
    a, b = _batch_first(a, transBatchA), _batch_first(b, transBatchB)
    a = a.transpose(-1, -2) if transA and a.dim() > 1 else a
    b = b.transpose(-1, -2) if transB and b.dim() > 1 else b
    product = torch.matmul(a, b)
    return product if alpha == 1 else product * alpha


def _batch_first(x: Tensor, swapped: int) -> Tensor:
    return x.movedim(0, -2) if swapped and x.dim() > 2 else x


_ACTIVATIONS: dict[str, Callable[..., Tensor]] = {
    "": lambda x: x,
    "Relu": torch.relu,
    "Sigmoid": torch.sigmoid,
    "Tanh": torch.tanh,
    "LeakyRelu": lambda x, alpha=0.01: F.leaky_relu(x, alpha),
    "Clip": lambda x, low=-3.4e38, high=3.4e38: x.clamp(low, high),
    "HardSigmoid": lambda x, alpha=0.2, beta=0.5: (alpha * x + beta).clamp(0.0, 1.0),
    "HardSwish": F.hardswish,
    "Gelu": F.gelu,
    "QuickGelu": lambda x, alpha=1.702: x * torch.sigmoid(alpha * x),
    "Softplus": F.softplus,
    "Elu": lambda x, alpha=1.0: F.elu(x, alpha),
}


def activated(x: Tensor, name: str, parameters: Sequence[float] = ()) -> Tensor:
    if name not in _ACTIVATIONS:
        raise Unsupported(f"the activation `{name}`; there are {', '.join(filter(None, _ACTIVATIONS))}")
    return _ACTIVATIONS[name](x, *parameters)


@microsoft("FusedConv")
def fused_conv(
    x: Tensor, w: Tensor, b: Tensor | None = None, z: Tensor | None = None, *, activation: str = "",
    activation_params: Sequence[float] = (), auto_pad: str = "NOTSET", dilations: Sequence[int] | None = None,
    group: int = 1, kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """activation(conv(x) + z)."""
    conv = find("", "Conv", 11)
    if conv is None:
        raise Unsupported("there is no Conv")
    made: Tensor = conv.function(x, w, b, auto_pad=auto_pad, dilations=dilations, group=group,
                                 kernel_shape=kernel_shape, pads=pads, strides=strides)  # fmt: skip
    return activated(made if z is None else made + z, activation, activation_params)


@microsoft("FusedGemm")
def fused_gemm(
    a: Tensor, b: Tensor, c: Tensor | None = None, *, activation: str = "", activation_alpha: float | None = None,
    activation_beta: float | None = None, activation_gamma: float | None = None, alpha: float = 1.0, beta: float = 1.0,
    transA: int = 0, transB: int = 0,
) -> Tensor:  # fmt: skip
    gemm = find("", "Gemm", 13)
    if gemm is None:
        raise Unsupported("there is no Gemm")
    parameters = [p for p in (activation_alpha, activation_beta, activation_gamma) if p is not None]
    return activated(
        gemm.function(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB), activation, parameters
    )


@microsoft("BiasAdd")
def bias_add(x: Tensor, bias: Tensor, skip: Tensor) -> Tensor:
    return x + bias + skip


@microsoft("MatMulNBits")
def matmul_nbits(
    a: Tensor, b: Tensor, scales: Tensor, zero_points: Tensor | None = None, g_idx: Tensor | None = None,
    bias: Tensor | None = None, *, K: int, N: int, bits: int = 4, block_size: int = 32, accuracy_level: int = 0,
    weight_prepacked: int = 0,
) -> Tensor:  # fmt: skip
    """Weights of `bits` bits, packed from the low end of each byte, with a scale for every `block_size` of a row."""
    if bits not in (2, 4, 8) or g_idx is not None or weight_prepacked:
        raise Unsupported(f"weights of {bits} bits{', reordered' if g_idx is not None or weight_prepacked else ''}")
    blocks = -(-K // block_size)
    quantised = unpacked(b.reshape(N, -1), bits)[:, : blocks * block_size].reshape(N, blocks, block_size)
    if zero_points is None:
        zero: Any = float(1 << (bits - 1))
    elif zero_points.dtype == torch.uint8:
        zero = unpacked(zero_points.reshape(N, -1), bits)[:, :blocks].reshape(N, blocks, 1).to(scales.dtype)
    else:
        zero = zero_points.reshape(N, blocks, 1)
    weight = (quantised.to(scales.dtype) - zero) * scales.reshape(N, blocks, 1)
    return F.linear(a, weight.reshape(N, -1)[:, :K].to(a.dtype), bias)


def unpacked(x: Tensor, bits: int) -> Tensor:
    """The fields of every byte, low bits first, as int32."""
    wide = x.to(torch.int32)
    fields = [(wide >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    return torch.stack(fields, -1).reshape(*x.shape[:-1], -1)


# ---- activations ----


@microsoft("Gelu")
def gelu(x: Tensor) -> Tensor:
    return F.gelu(x)


@microsoft("BiasGelu")
def bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    return F.gelu(x + bias)


@microsoft("FastGelu")
def fast_gelu(x: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.gelu(x if bias is None else x + bias, approximate="tanh")


@microsoft("QuickGelu")
def quick_gelu(x: Tensor, *, alpha: float = 1.702) -> Tensor:
    return x * torch.sigmoid(alpha * x)


@microsoft("BiasSplitGelu")
def bias_split_gelu(x: Tensor, bias: Tensor) -> Tensor:
    value, gate = (x + bias).chunk(2, -1)
    return value * F.gelu(gate)


@microsoft("BiasSoftmax")
def bias_softmax(x: Tensor, bias: Tensor, *, axis: int = 1, is_inner_broadcast: int = 1) -> Tensor:
    """Softmax over all dimensions from `axis` on; an outer-broadcast bias is repeated block by block."""
    axis %= x.dim()
    if not is_inner_broadcast and bias.dim() == x.dim() and bias.shape[0] != x.shape[0]:
        bias = bias.repeat_interleave(x.shape[0] // bias.shape[0], 0)
    flat = (x + bias).flatten(axis)
    return F.softmax(flat, -1).reshape(x.shape)


# ---- norms ----


def _normalised(x: Tensor, scale: Tensor, bias: Tensor | None, axis: int, epsilon: float) -> tuple[Tensor, ...]:
    """Layer norm, with the mean and the inverse deviation that nobody computes unless they are asked for."""
    axis %= x.dim()
    shape = x.shape[axis:]
    dims = list(range(axis, x.dim()))
    mean = x.mean(dims, keepdim=True)
    deviation = torch.rsqrt(x.var(dims, correction=0, keepdim=True) + epsilon)
    weight = scale.expand(shape) if scale.shape != shape else scale
    offset = bias.expand(shape) if bias is not None and bias.shape != shape else bias
    return F.layer_norm(x, shape, weight, offset, epsilon), mean, deviation


@microsoft("LayerNormalization")
def layer_normalization(
    x: Tensor, scale: Tensor, bias: Tensor | None = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Tensor, ...]:
    return _normalised(x, scale, bias, axis, epsilon)


@onnx("SimplifiedLayerNormalization", since=1)
@microsoft("SimplifiedLayerNormalization")
def simplified_layer_normalization(
    x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Tensor, ...]:
    axis %= x.dim()
    dims = list(range(axis, x.dim()))
    deviation = torch.rsqrt((x * x).mean(dims, keepdim=True) + epsilon)
    return F.rms_norm(x, x.shape[axis:], scale, epsilon), deviation


@microsoft("SkipLayerNormalization")
def skip_layer_normalization(
    x: Tensor, skip: Tensor, gamma: Tensor, beta: Tensor | None = None, bias: Tensor | None = None, *,
    epsilon: float = 1e-12,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Results: the norm of the sum, its mean, its inverse deviation, the sum."""
    total = x + skip if bias is None else x + skip + bias
    return *_normalised(total, gamma, beta, -1, epsilon), total


@microsoft("SkipSimplifiedLayerNormalization")
def skip_simplified_layer_normalization(
    x: Tensor, skip: Tensor, gamma: Tensor, bias: Tensor | None = None, *, epsilon: float = 1e-12
) -> tuple[Tensor, ...]:
    total = x + skip if bias is None else x + skip + bias
    normal, deviation = simplified_layer_normalization(total, gamma, epsilon=epsilon)
    return normal, torch.zeros_like(deviation), deviation, total


@microsoft("EmbedLayerNormalization")
def embed_layer_normalization(
    input_ids: Tensor, segment_ids: Tensor | None, word: Tensor, position: Tensor, segment: Tensor | None,
    gamma: Tensor, beta: Tensor, mask: Tensor | None = None, position_ids: Tensor | None = None, *,
    epsilon: float = 1e-12, mask_index_type: int = 1,
) -> tuple[Tensor, ...]:  # fmt: skip
    """BERT's embeddings. Results: the norm of their sum, how many tokens each mask keeps, the sum."""
    total = F.embedding(input_ids.to(torch.int64), word)
    if position_ids is None:
        total = total + position[: input_ids.shape[1]]
    else:
        total = total + F.embedding(position_ids.to(torch.int64), position)
    if segment is not None and segment_ids is not None:
        total = total + F.embedding(segment_ids.to(torch.int64), segment)
    kept = mask.sum(1).to(torch.int32) if mask is not None else torch.zeros(input_ids.shape[0], dtype=torch.int32)
    return _normalised(total, gamma, beta, -1, epsilon)[0], kept, total


@microsoft("GroupNorm")
def group_norm(
    x: Tensor, gamma: Tensor, beta: Tensor, *, activation: int, groups: int, epsilon: float = 1e-5,
    channels_last: int = 1,
) -> Tensor:  # fmt: skip
    """activation 1 is SiLU."""
    planes = x.movedim(-1, 1) if channels_last else x
    normal = F.group_norm(planes, groups, gamma, beta, epsilon)
    normal = F.silu(normal) if activation else normal
    return normal.movedim(1, -1) if channels_last else normal


# ---- the rest ----


@microsoft("ExpandDims")
def expand_dims(x: Tensor, axis: Tensor) -> Tensor:
    unsqueeze = find("", "Unsqueeze", 13)
    if unsqueeze is None:
        raise Unsupported("there is no Unsqueeze")
    made: Tensor = unsqueeze.function(x, axis)
    return made


@microsoft("Inverse")
def inverse(x: Tensor) -> Tensor:
    made: Tensor = torch.linalg.inv(x)
    return made


@microsoft("Rfft")
def rfft(x: Tensor, *, normalized: int = 0, onesided: int = 1, signal_ndim: int = 1) -> Tensor:
    """Along the last `signal_ndim` dimensions, as pairs in a new last dimension."""
    dims = list(range(-signal_ndim, 0))
    return torch.view_as_real(torch.fft.rfftn(x, dim=dims))


@microsoft("Irfft")
def irfft(x: Tensor, *, normalized: int = 0, onesided: int = 1, signal_ndim: int = 1) -> Tensor:
    dims = list(range(-signal_ndim, 0))
    made: Tensor = torch.fft.irfftn(torch.view_as_complex(x.contiguous()), dim=dims)
    return made


@microsoft("Trilu")
def trilu(x: Tensor, k: Tensor | None = None, *, upper: int = 1) -> Tensor:
    inner = find("", "Trilu", 14)
    if inner is None:
        raise Unsupported("there is no Trilu")
    made: Tensor = inner.function(x, k, upper=upper)
    return made
