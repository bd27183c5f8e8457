"""Images read where a grid says, as eager reads them: also outside, at the edge, and where there is no number."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import strop


class Sample(nn.Module):
    def __init__(self, **how):
        super().__init__()
        self.how = how

    def forward(self, x, grid):
        return F.grid_sample(x, grid, **self.how)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("align", [False, True])
def test_equals_eager(mode, padding, align):
    model = Sample(mode=mode, padding_mode=padding, align_corners=align)
    x, grid = torch.randn(2, 3, 9, 13), torch.rand(2, 7, 21, 2) * 2.6 - 1.3
    made = strop.compile(model, (x, grid))
    assert not [event for event in made.journal.events if event.kind == "fallback"]
    torch.testing.assert_close(made(x, grid), model(x, grid), rtol=1e-4, atol=1e-5)


def test_what_is_outside_does_not_count_even_if_the_edge_is_infinite():
    model = Sample(align_corners=False)
    x, grid = torch.full((1, 1, 4, 4), math.inf), torch.full((1, 1, 2, 2), 3.0)
    grid[0, 0, 1] = math.nan
    assert strop.compile(model, (x, grid))(x, grid).tolist() == [[[[0.0, 0.0]]]]


@pytest.mark.parametrize("how", [{"mode": "bicubic"}, {"padding_mode": "reflection"}])
def test_other_ways_are_taken_apart(how):
    model = Sample(align_corners=False, **how)
    x, grid = torch.randn(1, 2, 6, 5), torch.rand(1, 4, 4, 2) * 3 - 1.5
    torch.testing.assert_close(strop.compile(model, (x, grid))(x, grid), model(x, grid), rtol=1e-4, atol=1e-4)
