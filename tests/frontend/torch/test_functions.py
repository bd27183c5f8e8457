"""Functions of tensors: each normalises without a library node and means what eager means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from frontend.torch.compare import check_function, ops
from strop.frontend.torch.normalize import trace

x, y = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
image = torch.randn(2, 4, 9, 7)
integers = torch.randint(-9, 9, (2, 3, 4))
mask = torch.rand(2, 3, 4) > 0.5
odd = torch.tensor([1.0, -0.0, float("nan"), float("inf"), -float("inf"), -2.5])

CASES: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "views": (lambda x: x.transpose(0, 2)[1:, None, ::2].flatten(1).unflatten(1, (2, 2)).squeeze(), (x,)),
    "negative slices": (lambda x: (x[-2:, :-1], x[..., -1], x[:, 5:]), (x,)),
    "expand and repeat": (lambda x: (x[:, :1].expand(2, 5, 4), x.repeat(2, 1, 3), x.repeat_interleave(2, 1)), (x,)),
    "movedim and flip": (lambda x: x.movedim(0, 2).flip(0, 1).rot90(1, (0, 1)), (x,)),
    "diagonal and unfold": (lambda x: (x.diagonal(1, 1, 2), x.unfold(2, 2, 1)), (x,)),
    "cat stack split": (lambda x, y: (torch.cat([x, y], 1).chunk(4, 1), torch.stack([x, y], -1).unbind(-1)), (x, y)),
    "uneven split": (lambda x: x.split([1, 2], 1) + x.tensor_split(3, 2), (x,)),
    "roll": (lambda x: (x.roll(1, 2), x.roll((2, -1), (0, 1)), x.roll(5)), (x,)),
    "pad": (lambda x: (F.pad(x, (1, 2, 0, 3), value=2.0), F.pad(x, (-1, 1))), (x,)),
    "pad modes": (lambda x: [F.pad(x, (1, 2), m) for m in ("reflect", "replicate", "circular")], (x,)),
    "pixel shuffle": (lambda x: (F.pixel_shuffle(x, 2), F.channel_shuffle(x, 2)), (image,)),
    "where and masks": (lambda x, m: (x.masked_fill(m, -1e9), torch.where(m, x, 0.0), x * m), (x, mask)),
    "tril": (lambda x: (x.tril(), x.triu(1), torch.eye(3, 4) + x), (x,)),
    "cumulative": (lambda x, i: (x.cumsum(1), i.cumprod(2), i.cumsum(0)), (x, integers)),
    "reductions": (lambda x: (x.sum(), x.mean((0, 2), True), x.amax(1), x.var(1), x.std((1, 2)), x.prod(1)), (x,)),
    "extremes": (lambda x: (x.max(1), x.min(2, True), x.argmax(), x.argmin(1), x.aminmax(dim=1)), (x,)),
    "logsumexp": (lambda x: (x.logsumexp(1), x.softmax(1), x.log_softmax(-1), x.norm(dim=2)), (x,)),
    "logic": (lambda x, m: (m.any(1), m.all(), m & (x > 0), m ^ ~m, m.logical_or(x), m.sum(1)), (x, mask)),
    "bool arithmetic": (lambda m: (m + m, m * m, torch.maximum(m, ~m), m.cumsum(1)), (mask,)),
    "integers": (lambda i: (i / 3, i // 4, i % 5, i.remainder(-3), i.fmod(4), i**2, i & 3, i << 1, -i), (integers,)),
    "rounding": (lambda x: (x.floor(), x.ceil(), x.round(), x.trunc(), x.frac(), x.round(decimals=2)), (x,)),
    "clamp": (lambda x, y: (x.clamp(-1, 1), x.clamp_min(0), x.clamp(max=y), x.clamp(y, y + 1)), (x, y)),
    "not a number": (lambda x: (x.relu(), x.clamp(0, 1), x.isnan(), x.isfinite(), x.fmax(x.flip(0)), x.sign()), (odd,)),
    "powers": (lambda x: (x**2, x**3, x**0.5, x**-1, x**1.7, 2.0**x, x.pow(x)), (x.abs() + 1,)),
    "transcendental": (lambda x: (x.exp(), x.log1p(), x.erf(), x.tanh(), x.sinh(), x.atan(), x.rsqrt()), (x.abs(),)),
    "activations": (lambda x: (F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.mish(x), F.elu(x), F.celu(x),
                               F.selu(x), F.softplus(x), F.hardswish(x), F.hardsigmoid(x), F.leaky_relu(x),
                               F.relu6(x), F.hardtanh(x), F.logsigmoid(x), F.softsign(x), F.glu(x, 2)), (x,)),
    "lerp addcmul": (lambda x, y: (x.lerp(y, 0.3), x.addcmul(y, x, value=2), x.addcdiv(y, x), x.hypot(y)), (x, y)),
    "alpha": (lambda x, y: (x.add(y, alpha=2), x.sub(y, alpha=0.5), torch.rsub(x, y, alpha=3)), (x, y)),
    "matmul": (lambda x, y: (x @ y.mT, x @ y[0].T, x[0, 0] @ y.mT, x[0, 0] @ y[0, 0], x @ y[0, 0]), (x, y)),
    "addmm": (lambda a, b, c: (torch.addmm(a, b, c, beta=2, alpha=3), torch.baddbmm(a, b[None], c[None])),
              (torch.randn(3, 5), torch.randn(3, 4), torch.randn(4, 5))),
    "einsum": (lambda x, y: (torch.einsum("bij,bkj->bik", x, y), torch.einsum("bij,bij->b", x, y),
                             torch.einsum("bij,cij->bc", x, y)), (x, y)),
    "gather": (lambda x, i: (x.gather(1, i), x.take_along_dim(i, 1)), (x, torch.randint(0, 3, (2, 2, 4)))),
    "index": (lambda x, i: (x[i], x[:, i], x[i, :, i], x[..., i, i], x.index_select(1, i)),
              (x, torch.tensor([1, 0, 1]))),
    "index put": (lambda x, i, v: (x.index_put((i,), v), x.index_add(0, i, v), x.index_copy(0, i, v)),
                  (x, torch.tensor([1, 0]), y)),
    "scatter": (lambda x, i, v: (x.scatter(2, i, v), x.scatter_add(2, i, v), x.scatter(2, i, 1.5)),
                (x, torch.randint(0, 4, (2, 3, 4)), y)),
    "scatter reduce": (lambda x, i, v: [x.scatter_reduce(2, i, v, r) for r in ("sum", "prod", "amax", "amin")],
                       (x, torch.randint(0, 4, (2, 3, 4)), y)),
    "embedding": (lambda w, i: (F.embedding(i, w), F.embedding_bag(i, w, mode="sum"), F.one_hot(i, 9)),
                  (torch.randn(9, 5), torch.randint(0, 9, (3, 4)))),
    "create": (lambda x: (torch.arange(3, 9, 2), torch.zeros_like(x), x.new_full((2,), 3), torch.linspace(0, 1, 7)),
               (x,)),
    "convolutions": (lambda x, w, d: (F.conv2d(x, w, padding="same"), F.conv2d(x, w, stride=2, padding=1, dilation=2),
                                      F.conv2d(x, d, groups=4), F.conv_transpose2d(x, w, stride=2, output_padding=1),
                                      F.conv2d(x[0], w), F.conv1d(x[:, :, 0], w[..., 0])),
                     (image, torch.randn(4, 4, 3, 2), torch.randn(8, 1, 3, 3))),
    "pools": (lambda x: (F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 2, ceil_mode=True), F.avg_pool2d(x, 3, 2, 1),
                         F.avg_pool2d(x, 2, ceil_mode=True, count_include_pad=False), F.adaptive_avg_pool2d(x, (3, 2)),
                         F.adaptive_max_pool2d(x, 3), F.adaptive_avg_pool2d(x, 1), F.avg_pool1d(x[0], 2)), (image,)),
    "interpolate": (lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, (5, 11), mode="nearest-exact"),
                               F.interpolate(x, scale_factor=1.7, mode="bilinear"),
                               F.interpolate(x, (5, 11), mode="bilinear", align_corners=True),
                               F.interpolate(x, (12, 3), mode="bicubic")), (image,)),
    "norms": (lambda x, w: (F.layer_norm(x, (4,)), F.rms_norm(x, (4,)), F.group_norm(x, 3), F.instance_norm(x),
                            F.batch_norm(x, w, w * w, w, w)), (x, torch.randn(3))),
    "attention": (lambda q, k, m: (F.scaled_dot_product_attention(q, k, k), F.scaled_dot_product_attention(q, k, k, m),
                                   F.scaled_dot_product_attention(q, q, q, is_causal=True, scale=0.3)),
                  (torch.randn(2, 3, 4, 8), torch.randn(2, 3, 5, 8), torch.rand(4, 5) > 0.3)),
    "grid sample": (lambda x, g: F.grid_sample(x, g, align_corners=False), (image, torch.rand(2, 5, 6, 2) * 2 - 1)),
    "written views": (lambda x: _written(x.clone()), (x,)),
    "empty": (lambda x: (x[:0].sum(), x[:0].relu(), torch.cat([x, x[:0]])), (x,)),
    "0-d": (lambda s: (s + 1, s.softmax(0), s.sum(), s.expand(3), s * torch.ones(2)), (torch.tensor(1.5),)),
}  # fmt: skip


def _written(x: torch.Tensor) -> torch.Tensor:
    x[:, 1:] *= 2
    x[0, 0] = 5
    x[:, ::2] = x[:, ::2] + 1
    x.diagonal(0, 1, 2).fill_(3)
    x[x > 4] = 0
    return x


@pytest.mark.parametrize("name", CASES)
def test_equals_eager_without_library_nodes(name: str) -> None:
    function, tensors = CASES[name]
    check_function(function, *tensors)


def test_embedding_bag_over_equal_bags_is_an_embedding_and_a_sum() -> None:
    graph = trace(lambda w, i: F.embedding_bag(i, w, mode="sum"), torch.randn(9, 5), torch.randint(0, 9, (3, 4)))
    assert ops(graph) == ["embedding", "sum"]


def test_linear_on_a_batch_is_one_node() -> None:
    graph = trace(F.linear, torch.randn(2, 3, 4), torch.randn(5, 4), torch.randn(5))
    assert ops(graph) == ["linear"]


def test_batched_matmul_is_one_node() -> None:
    graph = trace(torch.matmul, torch.randn(2, 3, 4, 5), torch.randn(2, 1, 5, 6))
    assert ops(graph) == ["matmul"]


def test_folded_result_with_another_user_is_computed_once() -> None:
    def both(x: torch.Tensor, w: torch.Tensor) -> Any:
        flat = F.linear(x.reshape(6, 4), w)
        return flat, flat.reshape(2, 3, 5) + 1

    converted = check_function(both, torch.randn(2, 3, 4), torch.randn(5, 4))
    assert ops(converted.graph).count("linear") == 1
