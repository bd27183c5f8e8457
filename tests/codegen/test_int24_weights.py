"""Weights of 24 bits in machine code: as exact as sums in f32, for every size and number of columns."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from codegen.products import CHECKED, product
from strop.graph.ir import Node
from strop.loops.lower.int24_weights import Int24Weights
from strop.loops.lower.products import is_product, sizes_of
from strop.loops.lower.recurrent import GATES
from strop.schedule import algorithms
from strop.schedule.choose_int24_weights import Int24Product
from strop.session import Session
from strop.target.description import Target

ALGORITHM = "24 bits"


@pytest.fixture(autouse=True, params=["all", "some", "streams"])
def always(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they pay depends on the machine; that they are right doesn't."""
    every = request.param != "some"

    def row(node: Node, target: Target, threads: int, weights: int) -> Int24Product | None:
        if not is_product(node) or sizes_of(node).rows != 1:
            return None
        streams = 4 if request.param == "streams" and sizes_of(node).depth % 4 == 0 else 1
        return Int24Product(Int24Weights(16, 2, streams=streams) if every else Int24Weights(8, 1, 3))

    def states(node: Node, target: Target, threads: int) -> Int24Weights:
        three = GATES[node.op] == 3
        return (
            Int24Weights(16, 3 if three else 2) if every else Int24Weights(8, 1, 2 if three else 4, last=threads == 1)
        )

    monkeypatch.setattr(algorithms, "choose_int24_row", row)
    monkeypatch.setattr(algorithms, "choose_int24_states", states)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("depth", "columns"), [(256, 256), (100, 1000), (33, 7), (1, 130)])
def test_a_product_is_as_exact_as_a_sum_in_f32(depth: int, columns: int, threads: int) -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(1, depth), torch.randn(columns, depth)
    expected = x.double() @ weight.double().T
    assert (product(x, weight, ALGORITHM, threads) - expected).abs().max() < 1e-6 * expected.abs().max()


@pytest.mark.parametrize("size", [1e-22, 1e-10, 1e10, 1e30])
def test_columns_may_have_any_size(size: float) -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(1, 64), torch.randn(128, 64) * torch.logspace(-6, 6, 128)[:, None] * size
    result, expected = product(x, weight, ALGORITHM).double(), x.double() @ weight.double().T
    assert ((result - expected).abs() / (x.double().abs() @ weight.double().abs().T)).max() < 1e-6


def test_zeros_stay_zeros_and_nan_stays_in_its_column() -> None:
    weight = torch.randn(128, 64)
    weight[3], weight[70, 5] = 0.0, float("nan")
    result = product(torch.randn(1, 64), weight, ALGORITHM)[0]
    assert result[3] == 0 and result[70].isnan() and result.isnan().sum() == 1


def test_what_follows_and_a_bias_are_part_of_it() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(96, 200), nn.ReLU(), nn.Linear(200, 1000), nn.Sigmoid()).eval()
    x = torch.randn(1, 96)
    with torch.no_grad():
        result = Session(net, (x,), options=CHECKED, threads=1).module(x)
        torch.testing.assert_close(result, net(x), rtol=1e-5, atol=1e-6)


def test_changed_weights_are_taken_over() -> None:
    layer, x = nn.Linear(64, 128).eval(), torch.randn(1, 64)
    with torch.no_grad():
        session = Session(layer, (x,), options=CHECKED, threads=1)
        session.module(x)
        layer.weight.mul_(3.0)
        torch.testing.assert_close(session.module(x), layer(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("units", "both", "first"), [(64, False, True), (33, True, False)])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_recurrent_layer_equals_eager(
    kind: type[nn.Module], units: int, both: bool, first: bool, threads: int
) -> None:
    torch.manual_seed(0)
    layer = kind(20, units, 2, bidirectional=both, batch_first=first).eval()
    x = torch.randn((1, 9, 20) if first else (9, 1, 20))
    with torch.no_grad():
        session = Session(layer, (x,), options=CHECKED, threads=threads)
        torch.testing.assert_close(session.module(x), layer(x), rtol=1e-5, atol=2e-6)
    assert any("24 bits" in str(entry) for entry in session.journal.events)
