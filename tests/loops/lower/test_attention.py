"""Attention and its gradients: the nests compute what torch computes."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from loops.interpret import compute
from strop.core.extents import symbol
from strop.graph.ir import Node, Type
from strop.loops.lower import CHECKS
from strop.loops.lower import attention as lower


def rand(*shape):
    return torch.randn(shape)


def same(result, expected):
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-5, atol=1e-5)


def check_attention(q, k, v, mask=None, *, causal=False, scale=None, gqa=False):
    expected = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale, enable_gqa=gqa)
    inputs = [q, k, v] if mask is None else [q, k, v, mask]
    (result,) = compute("attention", inputs, [("f32", expected.shape)], scale=scale, causal=causal, gqa=gqa)
    same(result, expected)


@pytest.mark.parametrize("lengths", [(3, 5), (1, 1), (7, 7), (1, 4)])
@pytest.mark.parametrize("causal", [True, False])
def test_attention(lengths, causal):
    queries, keys = lengths
    check_attention(rand(2, 3, queries, 4), rand(2, 3, keys, 4), rand(2, 3, keys, 5), causal=causal)


def test_attention_without_batch_and_with_its_own_scale():
    check_attention(rand(3, 4), rand(5, 4), rand(5, 4), scale=0.3)


@pytest.mark.parametrize("shape", [(2, 3, 4, 6), (4, 6), (2, 1, 1, 6)])
def test_attention_masks_broadcast(shape):
    q, k, v = rand(2, 3, 4, 5), rand(2, 3, 6, 5), rand(2, 3, 6, 5)
    keep = torch.rand(shape) > 0.4
    keep[..., 0] = True
    check_attention(q, k, v, keep)
    check_attention(q, k, v, rand(*shape))
    check_attention(q, k, v, torch.zeros(shape).masked_fill(~keep, -math.inf))


def test_attention_rows_that_see_nothing():
    q, k, v = rand(1, 2, 4, 5), rand(1, 2, 6, 5), rand(1, 2, 6, 5)
    keep = torch.ones(4, 6, dtype=torch.bool)
    keep[1] = False
    check_attention(q, k, v, keep)
    check_attention(q, k, v, torch.zeros(4, 6).masked_fill(~keep, -math.inf))


def test_attention_shares_key_heads():
    check_attention(rand(2, 6, 3, 4), rand(2, 2, 5, 4), rand(2, 2, 5, 4), gqa=True)
    check_attention(rand(2, 4, 3, 4), rand(2, 1, 5, 4), rand(2, 1, 5, 4), gqa=True, causal=True)


def added(mask):
    return None if mask is None else torch.zeros(mask.shape).masked_fill(~mask, -math.inf)


def check_training(q, k, v, mask=None, *, causal=False, scale=0.5):
    """Forward with its logarithms and backward, against torch's own kernels for training."""
    aten = torch.ops.aten
    out, logsumexp = aten._scaled_dot_product_flash_attention_for_cpu(
        q, k, v, 0.0, causal, attn_mask=added(mask), scale=scale
    )
    inputs = [q, k, v] if mask is None else [q, k, v, mask]
    types = [("f32", out.shape), ("f32", logsumexp.shape)]
    for got, wanted in zip(compute("attention_forward", inputs, types, scale=scale, causal=causal), (out, logsumexp)):
        same(got, wanted)
    dout = torch.randn(out.shape)
    gradients = aten._scaled_dot_product_flash_attention_for_cpu_backward(
        dout, q, k, v, out, logsumexp, 0.0, causal, attn_mask=added(mask), scale=scale
    )
    inputs = [dout, q, k, v, out.contiguous(), logsumexp.contiguous(), *inputs[3:]]
    types = [("f32", x.shape) for x in (q, k, v)]
    for got, wanted in zip(compute("attention_backward", inputs, types, scale=scale, causal=causal), gradients):
        same(got, wanted)


@pytest.mark.parametrize("lengths", [(3, 5), (1, 1), (4, 4), (5, 2)])
@pytest.mark.parametrize("causal", [True, False])
def test_attention_and_its_gradients_in_training(lengths, causal):
    queries, keys = lengths
    check_training(rand(2, 3, queries, 4), rand(2, 3, keys, 4), rand(2, 3, keys, 4), causal=causal)


def test_gradients_of_several_blocks_and_a_rest(monkeypatch):
    monkeypatch.setattr(lower, "MOST_ROWS", 3)
    assert [lower.rows_of_block(rows, 5, "f32") for rows in (9, 8, 7, 2)] == [3, 3, 3, 2]
    for rows in (9, 8, 7):
        check_training(rand(1, 2, rows, 4), rand(1, 2, 5, 4), rand(1, 2, 5, 4))


def test_blocks_of_long_rows_fit_in_scratch():
    assert lower.rows_of_block(4096, 16384, "f32") * 16384 * 8 <= lower.SCRATCH_BYTES
    assert lower.rows_of_block(4096, 10**9, "f64") == 1


@pytest.mark.parametrize("shape", [(2, 3, 4, 6), (4, 6), (2, 1, 1, 6)])
def test_gradients_under_masks(shape):
    keep = torch.rand(shape) > 0.4
    keep[..., 0] = True
    check_training(rand(2, 3, 4, 5), rand(2, 3, 6, 5), rand(2, 3, 6, 5), keep)


def test_gradients_of_rows_that_see_nothing():
    keep = torch.ones(4, 6, dtype=torch.bool)
    keep[1] = False
    check_training(rand(1, 2, 4, 5), rand(1, 2, 6, 5), rand(1, 2, 6, 5), keep)


def test_gradients_of_unknown_lengths_are_refused_with_a_reason():
    rows = symbol("rows", 1, 64)
    inputs = tuple(Node("input", (), {}, (Type("f32", (2, rows, 4)),)) for _ in range(6))
    verdict = CHECKS["attention_backward"](Node("attention_backward", inputs, {}, (inputs[0].type,) * 3))
    assert not verdict and "rows" in verdict.why
