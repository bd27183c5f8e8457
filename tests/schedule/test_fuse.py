"""What is worth fusing, seen in the buffers that are left."""

from __future__ import annotations

import torch
from torch import nn

import strop


class Statistics(nn.Module):
    """Mean and variance of a convolution's channels, which are summed up in double precision."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.conv(x)
        return (y, *torch.var_mean(y, (0, 2, 3)))


def test_a_tensor_is_not_stored_in_double_precision_to_be_summed_up():
    torch.manual_seed(0)
    model, x = Statistics().eval(), torch.randn(2, 3, 34, 34)
    session = strop.Session(model, (x,), options=strop.Options(cache=False))
    wide = {b for call in session.plan.steps for b in call.source.writes if b.dtype == "f64"}
    assert all(b.size <= 2 * 16 * 32 for b in wide), wide  # sums of rows, at most
    with torch.no_grad():
        for got, wanted in zip(session.module(x), model(x), strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-6)
