"""What was reported to lose digits, on every target, and which algorithms may be chosen by default."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from numerics.judge import FACTOR, Judge, in_double, linear_terms
from strop.core.options import Options
from strop.graph import build
from strop.graph.ir import Graph
from strop.schedule.algorithms import choose_algorithms
from strop.schedule.choose_int24_weights import Int24Product
from strop.schedule.choose_strassen import Strassen
from strop.schedule.choose_winograd_inner_product import WinogradInnerProduct
from strop.target.description import Target

ELSEWHERE = ["znver3", "znver4", "haswell", "skylake-avx512", "neoverse-n1"]


class Logarithms(nn.Module):
    """log(linear(x)): every digit of a small result counts."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.weight = nn.Parameter(torch.rand(512, 512) + 0.01)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log(torch.nn.functional.linear(x, self.weight))


def rows_of_all_sizes(rows: int) -> torch.Tensor:
    return (
        torch.rand(rows, 512, generator=torch.Generator().manual_seed(1)) * 10 ** torch.linspace(4, -6, rows)[:, None]
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [8, 64, 512])
def test_logarithm_of_a_product(judge: Judge, rows: int, threads: int) -> None:
    x = rows_of_all_sizes(rows)
    model, fast = judge.compiled("log", Logarithms, (x,), threads)
    with torch.no_grad():
        exact = in_double(model)(x.double())
        errors = [float((found.double() - exact).abs().max()) for found in (model(x), fast(x))]
    assert errors[1] <= FACTOR * errors[0]
    judge.cases.add("reported")


@pytest.mark.parametrize("threads", [1, 2])
def test_an_outlier_channel_meets_small_weights(judge: Judge, threads: int) -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(128, 768), torch.randn(768, 768) / 768**0.5
    x[:, 5] *= 1e4
    weight[:, 5] *= 1e-4
    judge.check(
        "reported",
        "outlier",
        lambda: nn.Linear(768, 768, bias=False),
        (x,),
        {"weight": weight},
        linear_terms,
        threads=threads,
    )


SHAPES = [
    (1, 4096, 4096),
    (1, 1280, 1000),
    (16, 1024, 1024),
    (128, 768, 768),
    (128, 3072, 768),
    (512, 512, 512),
    (1024, 1024, 1024),
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("target", ELSEWHERE)
def test_products_are_direct_by_default(target: str, threads: int) -> None:
    """On every CPU: no other algorithm, which `fast` would choose."""
    chosen: dict[str, set[type]] = {}
    for numerics in ("default", "exact", "fast"):
        found: set[type] = set()
        for rows, k, columns in SHAPES:
            x, weight = build.input(0, "f32", (rows, k), "x"), build.param("w", "f32", (columns, k))
            graph = Graph((x,), (weight,), (build.linear(x, weight),))
            options = Options(numerics=numerics)  # type: ignore[arg-type]
            found |= {type(one) for one in choose_algorithms(graph, Target.find(target), threads, options).values()}
        chosen[numerics] = found
    assert not chosen["default"] and not chosen["exact"]
    assert chosen["fast"] & {Strassen, WinogradInnerProduct, Int24Product}  # so the shapes are those that matter
