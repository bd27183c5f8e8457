"""Recurrent layers: gates are sums of products, whose terms are the unit here; states lie between -1 and 1."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from torch import nn

from numerics.draws import Fill, moderate
from numerics.judge import Judge

LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "LSTM": (lambda: nn.LSTM(20, 24), (6, 3, 20)),
    "LSTM, both ways, two layers": (lambda: nn.LSTM(12, 16, num_layers=2, bidirectional=True, batch_first=True), (2, 5, 12)),
    "LSTM, large": (lambda: nn.LSTM(384, 384), (4, 2, 384)),
    "GRU": (lambda: nn.GRU(20, 24), (6, 3, 20)),
    "GRU, large": (lambda: nn.GRU(300, 320), (4, 1, 300)),
    "RNN": (lambda: nn.RNN(20, 24), (6, 3, 20)),
    "RNN, relu": (lambda: nn.RNN(20, 24, nonlinearity="relu"), (5, 3, 20)),
}  # fmt: skip


class First(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.layer(x)[0]
        return made


@pytest.mark.parametrize("name", LAYERS)
@settings(max_examples=4)
@given(x=moderate(), w=moderate(("normal", "sparse", "ladder")))
def test_recurrent_layer(judge: Judge, name: str, x: Fill, w: Fill) -> None:
    make, shape = LAYERS[name]
    with torch.device("meta"):
        shapes = {key: value.shape for key, value in First(make()).named_parameters()}
    parameters = {}
    for number, (key, size) in enumerate(shapes.items()):
        made = Fill(w.kind, w.seed + number, w.value, w.spans, w.outliers, w.zeros).tensor(size)
        # rows of weights whose squares add up to 1: gates that are neither all open nor all closed
        parameters[key] = made / (made.norm(dim=-1, keepdim=True) + 1e-30) if made.dim() == 2 else made.clamp(-1, 1)
    given = x.tensor(shape).clamp(-1e4, 1e4)

    def terms(model: nn.Module, args: object, exact: torch.Tensor) -> torch.Tensor:
        """What rounding a gate's sum may cost reaches every later state: the largest sum of a gate's terms |x·w|."""
        entering = parameters["layer.weight_ih_l0"].double().abs()
        return 1 + exact.abs() + (given.double().abs() @ entering.mT).max()

    judge.check(f"{name.split(',')[0]}", name, lambda: First(make()), (given,), parameters, terms)
