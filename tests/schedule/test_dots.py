"""Contractions with a single result per point are vectorised along what they sum up."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import strop
from codegen.machines import runnable


@pytest.mark.parametrize("target", ["znver3", "znver4"])
@pytest.mark.parametrize(("channels", "kernel"), [(32, (3, 3)), (8, (5, 5)), (33, (3, 1)), (16, (1, 3))])
def test_a_convolution_to_one_channel_keeps_sums_in_lanes(channels, kernel, target):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, channels, 3), nn.ReLU(), nn.Conv2d(channels, 1, kernel, padding="same")).eval()
    x = torch.randn(1, 3, 14, 15)
    session = strop.Session(model, (x,), options=strop.Options(cache=False, target=runnable(target)))
    passes = {str(one).partition("{")[0] for call in session.plan.steps if call.name == "2.conv" for one in call.passes}
    assert {"rfactor", "vectorise"} <= passes
    with torch.no_grad():
        torch.testing.assert_close(session.module(x), model(x), rtol=1e-5, atol=1e-5)


def test_equal_weights_are_packed_once():
    """Layers that share their weights read one packed copy."""

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(torch.tanh(self.layer(x)))

    session = strop.Session(Twice().eval(), (torch.randn(32, 64),))
    assert sum(call.name.endswith(".pack") for call in session.plan.prepare) == 1
