"""Walks of recurrent layers in training: the nests compute what the operators' own definition computes."""

import numpy as np
import pytest
import torch

from loops.interpret import compute
from strop.frontend.torch.aten import recurrences

CELLS = ("lstm", "gru", "tanh", "relu")


def walk(cell: str, backwards: bool, time: int = 3, batch: int = 2, units: int = 4) -> list[torch.Tensor]:
    """Inputs: x, the first states, weight and, of a GRU, bias."""
    rows = recurrences.GATES[cell] * units
    begin = [torch.randn(batch, units) for _ in range(2 if cell == "lstm" else 1)]
    bias = [torch.randn(rows)] if cell == "gru" else []
    return [torch.randn(time, batch, rows), *begin, torch.randn(rows, units), *bias]


def results(cell: str, backwards: bool, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    states = 2 if cell == "lstm" else 1
    x, begin, (weight, *bias) = inputs[0], inputs[1 : 1 + states], inputs[1 + states :]
    return recurrences.recurrence(x, begin, weight, bias[0] if bias else None, cell, backwards)


def same(op: str, inputs: list[torch.Tensor], wanted: list[torch.Tensor], cell: str, backwards: bool) -> None:
    types = [("f32", tuple(each.shape)) for each in wanted]
    for got, expected in zip(compute(op, inputs, types, cell=cell, backwards=backwards), wanted, strict=True):
        np.testing.assert_allclose(got, expected.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_forth(cell: str, backwards: bool) -> None:
    inputs = walk(cell, backwards)
    same("recurrence", inputs, results(cell, backwards, inputs), cell, backwards)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_back(cell: str, backwards: bool) -> None:
    inputs = walk(cell, backwards)
    kept = results(cell, backwards, inputs)
    given = [torch.randn(3, 2, 4), *([torch.randn(2, 4)] if cell == "lstm" else [])]
    weight = inputs[3 if cell == "lstm" else 2]
    wanted = recurrences.recurrence_backward(given, kept, weight, cell, backwards)
    same("recurrence_backward", [*given, *kept, weight], wanted, cell, backwards)
