"""Activations and softmax written out in torch become one operator."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from graph.evaluating import refusals
from graph.tracing import ops, traced
from strop.core.journal import Journal

Tensor = torch.Tensor
X = torch.cat([torch.linspace(-120, 120, 51), torch.tensor([0.0, -0.0, math.nan])]).reshape(2, 27)


@pytest.mark.parametrize(
    "function, op",
    [
        (lambda x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))), "gelu"),
        (lambda x: 0.5 * x * (1.0 + torch.erf(x * 0.70710678)), "gelu"),
        (lambda x: x * (0.5 * (torch.erf(x / 1.41421356) + 1.0)), "gelu"),
        (lambda x: 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0)))), "gelu"),
        (lambda x: 0.5 * x * (1 + torch.tanh(x * 0.7978845608 * (1 + 0.044715 * x * x))), "gelu"),
        (lambda x: 0.5 * x * (1 + torch.tanh(0.7978845608 * x + 0.0356774081 * x * x * x)), "gelu"),
        (lambda x: x * torch.sigmoid(1.5957691216 * (x + 0.044715 * x**3)), "gelu"),
        (lambda x: x * (0.5 + 0.5 * torch.erf(x * 0.70710678)), "gelu"),
        (lambda x: 0.5 * x * torch.erfc(-x * 0.70710678), "gelu"),
        (lambda x: x * torch.erfc(-x / math.sqrt(2.0)) / 2, "gelu"),
        (lambda x: x * torch.sigmoid(x), "silu"),
        (lambda x: torch.sigmoid(x) * x, "silu"),
        (lambda x: x / (1 + torch.exp(-x)), "silu"),
        (lambda x: 1 / (1 + torch.exp(-x)), "sigmoid"),
        (lambda x: x * torch.clamp(x + 3, 0, 6) / 6, "hardswish"),
        (lambda x: x * torch.nn.functional.relu6(x + 3) / 6, "hardswish"),
        (lambda x: x * (torch.nn.functional.relu6(x + 3) / 6), "hardswish"),
        (lambda x: torch.nn.functional.relu6(x + 3) / 6, "hardsigmoid"),
        (lambda x: x * torch.tanh(torch.nn.functional.softplus(x)), "mish"),
        (lambda x: x * torch.tanh(torch.log1p(torch.exp(x))), "mish"),
        (lambda x: torch.where(x > 0, x, x * 0.1), "leaky_relu"),
        (lambda x: torch.where(x > 20, x, torch.log1p(torch.exp(x))), "softplus"),
    ],
)
def test_recognised(function: Callable[[Tensor], Tensor], op: str) -> None:
    assert ops(traced(function, X)) == [op]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(3.0))),
        lambda x: x * torch.sigmoid(1.702 * x),  # quick GELU has no operator of its own
        lambda x: x * torch.sigmoid(0.7978845608 * (x + 0.044715 * x**3)),  # half of what GELU takes
        lambda x: x * torch.erfc(x * 0.70710678) / 2,
        lambda x: x * torch.clamp(x + 3, 0, 5) / 6,
        lambda x: x * torch.sigmoid(-x),
        lambda x: torch.log1p(torch.exp(x)),  # overflows where softplus does not
    ],
)
def test_near_misses_stay(function: Callable[[Tensor], Tensor]) -> None:
    recognised = {"gelu", "silu", "hardswish", "hardsigmoid", "mish", "softplus"}
    assert not recognised & set(ops(traced(function, X)))


def test_an_activation_whose_inside_is_returned_stays() -> None:
    def gate(x: Tensor) -> tuple[Tensor, Tensor]:
        g = torch.sigmoid(x)
        return x * g, g

    journal = Journal()
    assert ops(traced(gate, X, journal=journal)) == ["sigmoid", "mul"]
    assert "(`sigmoid`) is returned" in refusals(journal)


def _softmax(x: Tensor, dim: int) -> Tensor:
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


Y = torch.randn(3, 4, 5) * 30


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax(dim: int) -> None:
    (out,) = traced(lambda x: _softmax(x, dim), Y).outputs
    assert (out.op, out.attrs["dim"]) == ("softmax", dim % 3)


def test_softmax_with_max_and_indices() -> None:
    def rows(x: Tensor) -> Tensor:
        e = torch.exp(x - torch.max(x, dim=-1, keepdim=True).values)
        return e / torch.sum(e, dim=-1, keepdim=True)

    assert ops(traced(rows, Y)) == ["softmax"]


def test_log_softmax() -> None:
    def rows(x: Tensor) -> Tensor:
        s = x - x.amax(-1, keepdim=True)
        return s - torch.log(torch.exp(s).sum(-1, keepdim=True))

    assert ops(traced(rows, Y)) == ["log_softmax"]


def test_a_softmax_without_the_maximum_overflows_and_stays() -> None:
    journal = Journal()
    assert "softmax" not in ops(traced(lambda x: torch.exp(x) / torch.exp(x).sum(-1, keepdim=True), Y, journal=journal))
    assert "the maximum is not subtracted" in refusals(journal)


def test_a_softmax_over_two_dimensions_stays() -> None:
    def both(x: Tensor) -> Tensor:
        e = torch.exp(x - x.amax((1, 2), keepdim=True))
        return e / e.sum((1, 2), keepdim=True)

    journal = Journal()
    assert "softmax" not in ops(traced(both, Y, journal=journal))
    assert "over 2 dimensions" in refusals(journal)
