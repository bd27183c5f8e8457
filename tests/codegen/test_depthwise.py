"""Depthwise convolutions whose channels do not fill their vectors."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from strop.core.options import Options
from strop.session import Session


@pytest.mark.parametrize("target", ["znver3", None])
@pytest.mark.parametrize("transposed", [False, True], ids=["plain", "transposed"])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (3, 2), (4, 2), (5, 1)])
@pytest.mark.parametrize("channels", [5, 12, 21, 36])
def test_any_number_of_channels(channels, kernel, stride, transposed, target):
    torch.manual_seed(0)
    kind = nn.ConvTranspose2d if transposed else nn.Conv2d
    model, x = kind(channels, channels, kernel, stride, 1, groups=channels).eval(), torch.randn(1, channels, 34, 22)
    with torch.no_grad():
        session = Session(model, (x,), options=Options(cache=False, target=target), threads=1)
        torch.testing.assert_close(session.module(x), model(x), rtol=1e-4, atol=1e-5)


def test_tiles_fit_where_windows_are_walked_backwards():
    """Rows and a window that move in opposite directions, far apart: tiles had been taken for smaller than nothing."""
    model = nn.ConvTranspose3d(63, 126, (3, 5, 3), (2, 1, 2), (0, 0, 2), groups=63, dilation=(1, 2, 2)).eval()
    x = torch.randn(1, 63, 8, 5, 8)
    with torch.no_grad():
        session = Session(model, (x,), options=Options(cache=False, target="znver3"), threads=1)
        torch.testing.assert_close(session.module(x), model(x), rtol=1e-4, atol=1e-5)
    scratch = [buffer for call in session.plan.steps for buffer in call.nest.all_scratch]
    assert scratch
    assert max(buffer.bytes for buffer in scratch) <= 16 * 32
