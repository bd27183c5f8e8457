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


class Centred(nn.Module):
    """What a norm's gradient does: several sums and results read the same distance from a mean."""

    def forward(self, x: torch.Tensor, dy: torch.Tensor, mean: torch.Tensor) -> tuple[torch.Tensor, ...]:
        distance = x - mean[:, None, None]
        return (distance * dy).sum((0, 2, 3)), distance.relu().amax((0, 2, 3)), dy - 0.5 * distance


class BothMoved(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        distance = x - y
        return (distance * x).sum((0, 2, 3)), distance.relu().amax((0, 2, 3))


def stored_whole(model: nn.Module, *inputs: torch.Tensor) -> list[str]:
    """Tensors of the first input's size that a program writes for itself."""
    session = strop.Session(model, inputs, options=strop.Options(cache=False))
    with torch.no_grad():
        for got, wanted in zip(session.module(*inputs), model(*inputs), strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
    written = {b for call in session.plan.steps for b in call.source.writes if b.space == "arena"}
    return [b.name for b in written if b.size == inputs[0].numel()]


def test_what_one_large_tensor_and_values_per_channel_give_is_computed_wherever_it_is_read():
    torch.manual_seed(0)
    x, dy = torch.randn(2, 16, 24, 24), torch.randn(2, 16, 24, 24)
    assert not stored_whole(Centred(), x, dy, torch.randn(16))


def test_what_two_large_tensors_give_is_stored_for_several_readers():
    torch.manual_seed(0)
    assert stored_whole(BothMoved(), torch.randn(2, 16, 24, 24), torch.randn(2, 16, 24, 24))
