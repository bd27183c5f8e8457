"""Rows that are written one after the other, some of them twice: lanes lie along a row."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import strop
from codegen.machines import runnable


class Scattered(nn.Module):
    """Rows are added to, or put at, places that repeat."""

    def __init__(self, accumulate: bool, dim: int = 0) -> None:
        super().__init__()
        self.accumulate, self.dim = accumulate, dim

    def forward(self, x: torch.Tensor, rows: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        if self.accumulate:
            return x.index_add(self.dim, places, rows)
        return x.index_put((places,), rows) if self.dim == 0 else x.index_copy(self.dim, places, rows)


def scattered(model: Scattered, shape: tuple[int, int], target: str) -> tuple[list[str], torch.Tensor, torch.Tensor]:
    """The passes on the nest that puts rows, what it computes, and what eager does."""
    torch.manual_seed(0)
    count = shape[model.dim]
    places = torch.randint(count, (3 * count,)) if model.accumulate else torch.randperm(count)[: count // 2 + 1]
    taken = list(shape)
    taken[model.dim] = len(places)
    inputs = torch.randn(shape), torch.randn(taken), places
    session = strop.Session(model, inputs, options=strop.Options(cache=False, target=runnable(target)))
    walk = next(call for call in session.plan.steps if any(loop.kind == "sequential" for loop in call.source.all_loops))
    names = [str(one).partition("{")[0] for one in walk.passes]
    return names, session.module(*inputs), model(*inputs)


@pytest.mark.parametrize("target", ["znver3", "znver4"])
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("width", [2, 7, 16, 100, 129])
def test_rows_at_places_are_written_in_vectors(width, accumulate, target):
    names, made, wanted = scattered(Scattered(accumulate), (12, width), target)
    assert "vectorise" in names
    torch.testing.assert_close(made, wanted, rtol=0, atol=0)


@pytest.mark.parametrize("target", ["znver3", "znver4"])
@pytest.mark.parametrize("accumulate", [False, True])
def test_columns_at_places_are_written_right(accumulate, target):
    _, made, wanted = scattered(Scattered(accumulate, dim=1), (9, 12), target)
    torch.testing.assert_close(made, wanted, rtol=0, atol=0)
