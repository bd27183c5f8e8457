"""Gradients of pooling and resampling: what torch's own kernels compute, without a library node."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from frontend.torch.compare import check_function, ops


def backward(function):
    """Input and gradient of the result → gradient of the input."""

    def run(x, dy):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad(function(x), x, dy)[0]

    return run


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.avg_pool2d(x, 2),
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
        lambda x: F.avg_pool2d(x, (2, 3), 2, (1, 0), ceil_mode=True),
        lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
        lambda x: F.avg_pool2d(x, 2, 2, divisor_override=3),
        lambda x: F.adaptive_avg_pool2d(x, (4, 2)),
        lambda x: F.adaptive_avg_pool2d(x, (5, 7)),
        lambda x: F.interpolate(x, scale_factor=2, mode="nearest"),
        lambda x: F.interpolate(x, scale_factor=(3, 1), mode="nearest"),
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        lambda x: F.interpolate(x, size=(5, 19), mode="bilinear"),
        lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"),
        lambda x: F.interpolate(x, size=(13, 1), mode="bilinear", align_corners=True),
        lambda x: F.max_pool2d(x, 3, 2, 1),
    ],
)
def test_gradients(function):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, 12)
    check_function(backward(function), x, torch.randn_like(function(x)))


def test_a_block_that_is_averaged_gets_its_gradient_by_a_view():
    made = check_function(backward(lambda x: F.avg_pool2d(x, 2)), torch.randn(2, 3, 8, 12), torch.randn(2, 3, 4, 6))
    assert set(ops(made.graph)) <= {"full", "div", "mul", "reshape", "expand"}
