"""Attention in training: native code computes torch's results and gradients, and nothing is left to the library."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import strop

aten = torch.ops.aten


class Forward(torch.nn.Module):
    def __init__(self, **how):
        super().__init__()
        self.how = how

    def forward(self, q, k, v, *mask):
        added = torch.zeros(mask[0].shape, dtype=q.dtype).masked_fill(~mask[0], -math.inf) if mask else None
        return aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, attn_mask=added, **self.how)


class Backward(Forward):
    def forward(self, dout, q, k, v, out, logsumexp, *mask):
        added = torch.zeros(mask[0].shape, dtype=q.dtype).masked_fill(~mask[0], -math.inf) if mask else None
        causal, scale = self.how.get("is_causal", False), self.how.get("scale")
        return aten._scaled_dot_product_flash_attention_for_cpu_backward(
            dout, q, k, v, out, logsumexp, 0.0, causal, attn_mask=added, scale=scale
        )


def close(got, exact):
    torch.testing.assert_close(got.double(), exact, rtol=1e-4, atol=1e-5 * max(exact.abs().max().item(), 1))


def check(q, k, v, mask=None, threads=1, **how):
    """Both directions against float64."""
    masks = () if mask is None else (mask,)
    forward, backward = Forward(**how), Backward(**how)
    exact = forward(q.double(), k.double(), v.double(), *masks)
    session = strop.Session(forward, (q, k, v, *masks), threads=threads)
    assert not session.summary()["library_nodes"]
    with torch.no_grad():
        found = session.module(q, k, v, *masks)
    for got, wanted in zip(found, exact, strict=True):
        close(got, wanted)
    inputs = (torch.randn_like(q[..., : v.shape[-1]]), q, k, v, *(one.detach() for one in found), *masks)
    session = strop.Session(backward, inputs, threads=threads)
    assert not session.summary()["library_nodes"]
    with torch.no_grad():
        gradients = session.module(*inputs)
    doubled = [x.double() if x.is_floating_point() else x for x in inputs]
    doubled[4:6] = exact
    for got, wanted in zip(gradients, backward(*doubled), strict=True):
        close(got, wanted)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("queries", "keys", "width", "how"),
    [
        (128, 128, 64, {}),
        (197, 197, 32, {}),
        (70, 33, 20, {"scale": 0.3}),
        (130, 130, 16, {"is_causal": True}),
        (1, 40, 8, {}),
    ],
)
def test_gradients_of_attention(queries, keys, width, how, threads):
    torch.manual_seed(0)
    shapes = [(2, 3, length, width) for length in (queries, keys, keys)]
    check(*map(torch.randn, shapes), threads=threads, **how)


def test_heads_of_one_projection_are_read_where_they_lie():
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 50, 3, 4, 16).permute(2, 0, 3, 1, 4)
    check(q, k, v)


@pytest.mark.parametrize("shape", [(2, 1, 1, 40), (30, 40), (2, 3, 30, 40)])
def test_gradients_under_masks(shape):
    torch.manual_seed(0)
    mask = torch.rand(shape) > 0.3
    mask[0] = False  # the first row, or every row of the first batch, attends to nothing
    check(torch.randn(2, 3, 30, 16), torch.randn(2, 3, 40, 16), torch.randn(2, 3, 40, 16), mask)


def test_large_scores_are_as_exact_as_in_eager():
    """Scores of some thousands have errors of 1e-4, and so have probabilities."""
    torch.manual_seed(0)
    q, k, v = 30 * torch.randn(1, 2, 40, 16), 30 * torch.randn(1, 2, 40, 16), torch.randn(1, 2, 40, 16)
    out, logsumexp = Forward()(q, k, v)
    inputs = torch.randn_like(out), q, k, v, out, logsumexp.contiguous()
    model = Backward()
    exact_results = Forward()(q.double(), k.double(), v.double())
    exact = model(*(x.double() for x in inputs[:4]), *exact_results)
    with torch.no_grad():
        found = strop.Session(model, inputs, threads=1).module(*inputs)
    for got, eager, wanted in zip(found, model(*inputs), exact, strict=True):
        error = (got.double() - wanted).abs().max().item()
        assert error <= 4 * (eager.double() - wanted).abs().max().item()


@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    batch=st.integers(1, 2), heads=st.integers(1, 3), queries=st.integers(1, 90), keys=st.integers(1, 70),
    width=st.integers(1, 40), causal=st.booleans(),
)  # fmt: skip
def test_random_shapes(batch, heads, queries, keys, width, causal):
    torch.manual_seed(0)
    shapes = [(batch, heads, length, width) for length in (queries, keys, keys)]
    check(*map(torch.randn, shapes), is_causal=causal)
