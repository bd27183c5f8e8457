"""LayerNorm and RMSNorm written out in torch become one operator."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from graph.evaluating import refusals
from graph.tracing import ops, traced
from strop.core.journal import Journal

Tensor = torch.Tensor
torch.manual_seed(0)
X = torch.randn(2, 5, 8)
W, B = torch.randn(8), torch.randn(8)


def by_power(x: Tensor) -> Tensor:
    mean = x.mean(-1, keepdim=True)
    var = (x - mean).pow(2).mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(var + 1e-5)


def by_var(x: Tensor) -> Tensor:
    mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
    return (x - mean) * torch.rsqrt(var + 1e-5)


def by_sum(x: Tensor) -> Tensor:
    c = x - x.sum(-1, keepdim=True) / 8
    return c * ((c * c).sum(-1, keepdim=True) / 8 + 1e-5) ** -0.5


def by_reciprocal(x: Tensor) -> Tensor:
    c = x - x.mean(dim=-1, keepdim=True)
    return c * (1 / (torch.mean(c**2, dim=-1, keepdim=True) + 1e-5).sqrt())


FORMS = [by_power, by_var, by_sum, by_reciprocal]


@pytest.mark.parametrize("form", FORMS)
def test_layer_norm(form: Callable[[Tensor], Tensor]) -> None:
    (out,) = traced(form, X).outputs
    assert out.op == "layer_norm"
    assert (out.attrs["axes"], out.attrs["eps"], out.attrs["has_weight"]) == (1, 1e-5, False)


@pytest.mark.parametrize("form", FORMS)
def test_layer_norm_with_weight_and_bias(form: Callable[[Tensor], Tensor]) -> None:
    graph = traced(lambda x, w, b: w * form(x) + b, X, w=W, b=B)
    assert ops(graph) == ["layer_norm"]
    assert graph.outputs[0].attrs["has_bias"]


def test_layer_norm_over_two_dimensions() -> None:
    def form(x: Tensor, w: Tensor) -> Tensor:
        c = x - x.mean((-2, -1), keepdim=True)
        return c / torch.sqrt((c * c).mean((-2, -1), keepdim=True) + 1e-6) * w

    (out,) = traced(form, X, w=torch.randn(5, 8)).outputs
    assert (out.op, out.attrs["axes"]) == ("layer_norm", 2)


def test_a_residual_is_no_bias() -> None:
    graph = traced(lambda x, r, w: by_power(x) * w + r, X, torch.randn(2, 5, 8), w=W)
    assert ops(graph) == ["layer_norm", "add"]


def test_a_modulation_per_batch_is_no_weight() -> None:
    assert ops(traced(lambda x, s: by_power(x) * s, X, torch.randn(2, 1, 8))) == ["layer_norm", "mul"]


@pytest.mark.parametrize(
    "form, why",
    [
        (lambda x: (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, unbiased=False) + 1e-5), "standard dev"),
        (lambda x: (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + 1e-5), "n − 1"),
        (lambda x: (x - x.mean(1, True)) / torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5), "not the last"),
    ],
)  # fmt: skip
def test_near_misses_stay_and_say_why(form: Callable[[Tensor], Tensor], why: str) -> None:
    journal = Journal()
    assert "layer_norm" not in ops(traced(form, X, journal=journal))
    assert why in refusals(journal)


def test_a_norm_whose_variance_is_returned_stays() -> None:
    def form(x: Tensor) -> tuple[Tensor, Tensor]:
        c = x - x.mean(-1, keepdim=True)
        var = (c * c).mean(-1, keepdim=True)
        return c / torch.sqrt(var + 1e-5), var

    journal = Journal()
    assert "layer_norm" not in ops(traced(form, X, journal=journal))
    assert "is returned" in refusals(journal)


def rms(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


@pytest.mark.parametrize(
    "form, weight, offset",
    [
        (lambda x, w: rms(x), False, 0.0),
        (lambda x, w: rms(x) * w, True, 0.0),
        (lambda x, w: w * rms(x.float()).type_as(x), True, 0.0),
        (lambda x, w: x / torch.sqrt(torch.mean(x * x, -1, keepdim=True) + 1e-6) * w, True, 0.0),
        (lambda x, w: rms(x) * (1.0 + w), True, 1.0),
    ],
)
def test_rms_norm(form: Callable[[Tensor, Tensor], Tensor], weight: bool, offset: float) -> None:
    graph = traced(form, X, w=W)
    (out,) = graph.outputs
    assert ops(graph) == ["rms_norm"]
    assert (out.attrs["has_weight"], out.attrs["offset"], out.attrs["eps"]) == (weight, offset, 1e-6)


def test_a_euclidean_norm_is_no_rms_norm() -> None:
    graph = traced(lambda x: x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + 1e-6), X)
    assert "rms_norm" not in ops(graph)
