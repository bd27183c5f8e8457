"""Attention: masks, causal, groups of heads that share keys; scores of any size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from torch import Tensor, nn
from torch.nn import functional as F

from numerics.draws import Fill, moderate
from numerics.judge import Judge, Of

attend = F.scaled_dot_product_attention
MASK = torch.rand(7, 9, generator=torch.Generator().manual_seed(3)) < 0.7
ADDED = torch.randn(2, 1, 7, 9, generator=torch.Generator().manual_seed(4))
KINDS: dict[str, tuple[Callable[..., Tensor], tuple[int, ...], tuple[int, ...]]] = {
    "plain": (lambda q, k, v: attend(q, k, v), (2, 3, 7, 16), (2, 3, 9, 16)),
    "causal": (lambda q, k, v: attend(q, k, v, is_causal=True), (2, 3, 9, 16), (2, 3, 9, 16)),
    "mask": (lambda q, k, v: attend(q, k, v, MASK), (2, 3, 7, 16), (2, 3, 9, 16)),
    "added mask": (lambda q, k, v: attend(q, k, v, ADDED.to(q.dtype)), (2, 3, 7, 16), (2, 3, 9, 16)),
    "groups": (lambda q, k, v: attend(q, k, v, enable_gqa=True), (1, 4, 6, 32), (1, 2, 8, 32)),
    "one query": (lambda q, k, v: attend(q, k, v), (1, 4, 1, 64), (1, 4, 600, 64)),
    "many keys": (lambda q, k, v: attend(q, k, v), (1, 2, 64, 64), (1, 2, 700, 64)),
}  # fmt: skip


def terms_of(function: Callable[..., Tensor]) -> Callable[[nn.Module, Sequence[Any], Tensor], Tensor]:
    """Σ p·|v|, as often as scores can be off: each by a few units of the sum of its absolute products."""

    def terms(model: nn.Module, args: Sequence[Any], exact: Tensor) -> Tensor:
        q, k, v = (one.double() for one in args)
        keys = k.shape[-2]
        identity = torch.eye(keys, dtype=torch.float64).expand(*v.shape[:-2], keys, keys)
        weights = function(q, k, identity)  # the probabilities themselves
        share = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
        sizes = 1 + (q.abs() @ k.abs().mT) / sqrt(q.shape[-1])
        return (weights * sizes) @ v.abs() + (weights * sizes).sum(-1, keepdim=True) * (weights @ v.abs())

    return terms


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=5)
@example(q=Fill("constant"), k=Fill("constant"), v=Fill("constant"))
@given(q=moderate(), k=moderate(), v=moderate())
def test_attention(judge: Judge, name: str, q: Fill, k: Fill, v: Fill) -> None:
    function, left, right = KINDS[name]
    queries = q.tensor(left).clamp(-30, 30)
    keys, values = k.tensor(right).clamp(-30, 30), v.tensor(right)
    count = right[-2]
    judge.check(
        "attention",
        name,
        lambda: Of(function),
        (queries, keys, values),
        terms=terms_of(function),
        count=count,
        equal=v.constant,
    )
