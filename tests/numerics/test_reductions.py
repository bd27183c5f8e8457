"""Reductions: long sums, constants that round the same way at every step, cancellation, denormals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from torch import Tensor, nn
from torch.nn import functional as F

from numerics.draws import Fill, fills, moderate, within_range
from numerics.judge import Judge, Of, linear_terms, own_size

ONE = torch.ones(1)


def of_deviation(model: nn.Module, args: Sequence[Any], exact: Tensor) -> Tensor:
    """√(variance + mean²): what is left of the mean's rounding in each difference from it."""
    return args[0].double().square().mean(-1).sqrt()


def of_variance(model: nn.Module, args: Sequence[Any], exact: Tensor) -> Tensor:
    """The deviation times that: what a stable algorithm may lose."""
    return exact.sqrt() * of_deviation(model, args, exact)


LINEAR: dict[str, tuple[Callable[[Tensor], Tensor], tuple[int, ...], int]] = {
    "sum": (lambda x: x.sum(-1), (5, 700), 700),
    "sum, long": (lambda x: x.sum(), (70_001,), 70_001),
    "sum, columns": (lambda x: x.sum(0), (4100, 9), 4100),
    "sum of both": (lambda x: x.sum((0, 2)), (3, 5, 900), 2700),
    "mean": (lambda x: x.mean(-1), (4, 4096), 4096),
    "cumsum": (lambda x: x.cumsum(-1), (3, 500), 500),
    "cumsum, columns": (lambda x: x.cumsum(0), (600, 5), 600),
    "avg_pool": (lambda x: F.avg_pool2d(x, 3, 2, 1), (2, 5, 9, 9), 9),
    "avg_pool, all": (lambda x: F.adaptive_avg_pool2d(x, 1), (2, 7, 14, 14), 196),
    "avg_pool, 1-d": (lambda x: F.avg_pool1d(x, 8), (2, 3, 64), 8),
}  # fmt: skip
OTHERS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[..., Tensor], tuple[int, ...]]] = {
    "norm": (lambda x: x.norm(dim=-1), own_size, (5, 3000)),
    "norm, 1": (lambda x: x.norm(1, dim=-1), own_size, (5, 3000)),
    "var": (lambda x: x.var(-1), of_variance, (5, 900)),
    "std": (lambda x: x.std(-1), of_deviation, (5, 900)),
}


@pytest.mark.parametrize("name", LINEAR)
@settings(max_examples=5)
@example(x=Fill("constant"))
@example(x=Fill("constant", scale=2.0**-140))
@given(x=fills())
def test_sum(judge: Judge, name: str, x: Fill) -> None:
    function, shape, count = LINEAR[name]
    given = within_range(x.tensor(shape), ONE, count)
    judge.check(
        name.split(",")[0], name, lambda: Of(function), (given,), terms=linear_terms, count=count, equal=x.constant
    )


@pytest.mark.parametrize("name", OTHERS)
@settings(max_examples=5)
@example(x=Fill("positive"))
@given(x=moderate())
def test_other_reductions(judge: Judge, name: str, x: Fill) -> None:
    """Beside an outlier all other squares of a variance are nearly equal, and round the same way."""
    function, terms, shape = OTHERS[name]
    judge.check(name.split(",")[0], name, lambda: Of(function), (x.tensor(shape),), terms=terms, count=64, equal=True)


@settings(max_examples=5)
@given(x=moderate(("normal", "positive", "constant")))
def test_prod(judge: Judge, x: Fill) -> None:
    given = x.tensor((6, 40))
    given = given / given.abs().clamp(min=1e-30) ** 0.9  # products of 40 stay in range
    judge.check("prod", "prod", lambda: Of(lambda t: t.prod(-1)), (given,), terms=own_size, count=40, equal=True)


@pytest.mark.parametrize("mode", ["sum", "mean"])
@settings(max_examples=4)
@given(w=fills())
def test_embedding_bag(judge: Judge, mode: str, w: Fill) -> None:
    generator = torch.Generator().manual_seed(w.seed)
    chosen = torch.randint(50, (12, 30), generator=generator)
    table = within_range(w.tensor((50, 16)), ONE, 30)
    judge.check(
        "embedding_bag",
        mode,
        lambda: nn.EmbeddingBag(50, 16, mode=mode),
        (chosen,),
        {"weight": table},
        count=30,
        equal=w.constant,
    )
