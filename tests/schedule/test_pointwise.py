"""Pointwise nests with several results: a value that they share is computed in vectors, like everything else."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import strop
from codegen.machines import runnable


class Shared(nn.Module):
    """Two results of one value."""

    def __init__(self, turned: bool) -> None:
        super().__init__()
        self.turned = turned

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        value = (x.permute(0, 2, 1) if self.turned else x) - y
        return value, value * y + 1


@pytest.mark.parametrize("target", ["znver3", "znver4"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shape", [(2, 64, 48), (2, 37, 21), (3, 5, 2)])
def test_a_shared_value_is_computed_in_vectors(shape, turned, target):
    torch.manual_seed(0)
    x, y = torch.randn(shape), torch.randn(shape[0], shape[2], shape[1]) if turned else torch.randn(shape)
    model = Shared(turned)
    options = strop.Options(cache=False, target=runnable(target))
    session = strop.Session(model, (x, y), options=options)
    (call,) = session.plan.steps
    assert call.source.scratch, "the results are expected to share a value"
    assert {"vectorise", "sink"} <= {str(one).partition("{")[0] for one in call.passes}
    for got, wanted in zip(session.module(x, y), model(x, y), strict=True):
        torch.testing.assert_close(got, wanted)
