"""Benchmarks of single operators tell the operator's own time from that of copies at the border."""

import torch
from torch import nn

from strop.bench.ops import compiled


def test_an_operator_is_timed_apart_from_the_copies_at_its_border():
    x = torch.randn(1, 32, 56, 56)
    layer = nn.Conv2d(32, 64, 3, padding=1).eval()
    with torch.no_grad():
        module, pair = compiled(layer, (x,), 1)
        torch.testing.assert_close(module(x), layer(x), rtol=1e-4, atol=1e-5)
        assert 0 < pair.inside((x,)) < 1
