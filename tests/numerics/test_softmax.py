"""softmax, log_softmax, logsumexp: rows of any scale and length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from torch import Tensor, nn
from torch.nn import functional as F

from numerics.draws import Fill, fills
from numerics.judge import Judge, Of

SPANS = ((0.0, 0.0), (-4.0, 2.0), (-30.0, 1.0), (0.0, 30.0))


def below(x: Tensor) -> Tensor:
    return x.amax(-1, keepdim=True) - x


def of_softmax(model: nn.Module, args: Sequence[Any], exact: Tensor) -> Tensor:
    return exact * (2 + below(args[0].double()))


def of_log(model: nn.Module, args: Sequence[Any], exact: Tensor) -> Tensor:
    x = args[0].double()
    return below(x) + (x - x.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True).log() + 1e-7


def of_sum(model: nn.Module, args: Sequence[Any], exact: Tensor) -> Tensor:
    return args[0].double().amax(-1).abs() + exact.abs() + 1


FUNCTIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[..., Tensor]]] = {
    "softmax": (lambda x: F.softmax(x, -1), of_softmax),
    "log_softmax": (lambda x: F.log_softmax(x, -1), of_log),
    "logsumexp": (lambda x: x.logsumexp(-1), of_sum),
}


@pytest.mark.parametrize("shape", [(7, 33), (3, 5000)], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=6)
@example(x=Fill("constant"))
@example(x=Fill(scale=1000.0))
@given(x=fills(spans=SPANS))
def test_softmax(judge: Judge, name: str, shape: tuple[int, ...], x: Fill) -> None:
    function, terms = FUNCTIONS[name]
    judge.check(
        name, f"{name} {shape}", lambda: Of(function), (x.tensor(shape),), terms=terms, equal=x.constant, count=4
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(judge: Judge, name: str) -> None:
    rows = torch.zeros(6, 9)
    rows[0, 3], rows[1, 2], rows[2, 4], rows[4, :] = torch.nan, torch.inf, -torch.inf, -torch.inf
    rows[5, 1] = torch.finfo(torch.float32).max
    function, terms = FUNCTIONS[name]
    judge.check(name, f"{name}, special", lambda: Of(function), (rows,), terms=terms)
