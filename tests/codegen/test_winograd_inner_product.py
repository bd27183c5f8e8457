"""Products of pairs in machine code: right for every size of numbers, and with what is fused into them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import strop
from codegen.products import CHECKED, product
from strop.graph.ir import Node
from strop.loops.lower.products import is_product, sizes_of
from strop.schedule import algorithms
from strop.schedule.choose_winograd_inner_product import WinogradInnerProduct
from strop.session import Session
from strop.target.description import Target

ALGORITHM = "products of pairs"


@pytest.fixture(autouse=True, params=[False, True], ids=["row by row", "step by step"])
def always(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Whether they pay depends on the machine; that they are right doesn't."""

    def choose(node: Node, target: Target, threads: int) -> WinogradInnerProduct | None:
        if not is_product(node) or sizes_of(node).columns % 16:
            return None
        block = 32 if sizes_of(node).columns % 32 == 0 else 16
        return WinogradInnerProduct(2, 7, block, 16, stepwise=request.param)

    monkeypatch.setattr(algorithms, "choose_winograd_inner_product", choose)


def error(x: torch.Tensor, weight: torch.Tensor) -> float:
    """Of the worst row, relative to its largest element."""
    result, expected = product(x, weight, ALGORITHM).double(), x.double() @ weight.double().T
    return ((result - expected).abs().amax(-1) / expected.abs().amax(-1)).max().item()


class Block(nn.Module):
    def __init__(self, depth: int, columns: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(depth, columns), nn.Linear(columns, depth)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(x)))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("rows", "depth"), [(56, 96), (64, 100), (101, 64), (197, 208)])
def test_a_block_equals_eager(rows: int, depth: int, threads: int) -> None:
    torch.manual_seed(0)
    block, x = Block(16 * (depth // 16), 320).eval(), torch.randn(1, rows, 16 * (depth // 16))
    with torch.no_grad():
        result = Session(block, (x,), options=CHECKED, threads=threads).module(x)
        expected = block.double()(x.double())
    assert (result - expected).abs().max() < 2e-6 * expected.abs().max()


def test_an_image_equals_eager() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.ReLU6(), nn.Conv2d(64, 96, 1), nn.SiLU(), nn.Conv2d(96, 64, 3, groups=32)
    ).eval()
    x = torch.randn(2, 3, 14, 14)
    with torch.no_grad():
        result = strop.compile(net, x, options=CHECKED)(x)
        expected = net.double()(x.double())
    assert (result - expected).abs().max() < 3e-6 * expected.abs().max()


@pytest.mark.parametrize("strip", [1, 7])
def test_columns_in_shares_equal_eager(monkeypatch: pytest.MonkeyPatch, strip: int) -> None:
    torch.manual_seed(0)
    shared = WinogradInnerProduct(strip, 7, 16, 16, shares=2)
    monkeypatch.setattr(
        algorithms, "choose_winograd_inner_product", lambda node, *_: shared if is_product(node) else None
    )
    net = nn.Sequential(nn.Conv2d(3, 160, 3, padding=1), nn.Conv2d(160, 64, 1), nn.ReLU6(), nn.Conv2d(64, 8, 3)).eval()
    x = torch.randn(1, 3, 7, 7)
    with torch.no_grad():
        session = Session(net, (x,), options=CHECKED, threads=2)
        result, expected = session.module(x), net.double()(x.double())
    assert any("columns in 2 shares" in str(entry) for entry in session.journal.events)
    assert (result - expected).abs().max() < 3e-6 * expected.abs().max()


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e-4, 1.0, 1e5, 1e20])
def test_sizes_of_rows_and_columns_do_not_matter(scale: float) -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(28, 192), torch.randn(32, 192)
    assert error(scale * x, weight) < 2e-6
    assert error(x, scale * weight) < 2e-6
    assert error(x * torch.logspace(-6, 6, 28)[:, None], weight * scale) < 2e-6


def test_columns_of_different_sizes_are_each_right() -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(28, 192), torch.randn(32, 192) * torch.logspace(-8, 8, 32)[:, None]
    result, expected = product(x, weight, ALGORITHM).double(), x.double() @ weight.double().T
    assert ((result - expected).abs().amax(0) / expected.abs().amax(0)).max() < 2e-6


@pytest.mark.parametrize("kind", ["positive", "constant", "one-hot", "outliers", "sparse"])
def test_rows_of_every_kind_are_right(kind: str) -> None:
    torch.manual_seed(0)
    x = {
        "positive": torch.rand(28, 768),
        "constant": torch.ones(28, 768),
        "one-hot": torch.eye(768)[:28],
        "outliers": torch.randn(28, 768) + 300.0 * (torch.arange(768) % 191 == 7),
        "sparse": torch.randn(28, 768) * (torch.rand(28, 768) < 0.02),
    }[kind]
    assert error(x, torch.randn(64, 768)) < 4e-6
    assert error(x, torch.rand(64, 768)) < 4e-6


def test_rows_of_zeros_give_the_bias() -> None:
    layer, x = nn.Linear(96, 32).eval(), torch.zeros(28, 96)
    with torch.no_grad():
        layer.weight[3] = 0
        result = Session(layer, (x,), options=CHECKED, threads=1).module(x)
    assert torch.equal(result, layer.bias.expand(28, 32))


def test_what_is_not_finite_stays_in_its_row() -> None:
    x, weight = torch.randn(28, 96), torch.randn(32, 96)
    spoilt = x.clone()
    spoilt[3, 5], spoilt[10, 7] = float("nan"), float("inf")
    result, clean = product(spoilt, weight, ALGORITHM), product(x, weight, ALGORITHM)
    others = [row for row in range(28) if row not in (3, 10)]
    assert torch.equal(result[others], clean[others])
    assert not result[[3, 10]].isfinite().any()


def test_doubles_are_right() -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(28, 100, dtype=torch.float64), torch.randn(32, 100, dtype=torch.float64)
    assert (product(x, weight, ALGORITHM) - x @ weight.T).abs().max() < 1e-13


def test_they_can_be_switched_off() -> None:
    block, x = Block(256, 512).eval(), torch.randn(1, 128, 256)
    with torch.no_grad():
        session = Session(block, (x,), options=strop.Options(cache=False, numerics="fast", pairs=False), threads=1)
    assert not any("products of pairs" in str(entry) for entry in session.journal.events)
