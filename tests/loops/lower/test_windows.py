"""Pooling: the nests compute what torch computes."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from loops.interpret import compute, context_of
from strop.loops.lower import CHECKS
from strop.loops.lower import windows as lower


def same(result, expected):
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-5, atol=1e-5)


def pads(padding):
    return tuple((p, p) for p in padding)


POOLS = [
    ((1, 2, 7, 9), (3, 3), (2, 2), (1, 1), False),
    ((2, 1, 5, 5), (2, 2), (2, 2), (0, 0), False),
    ((1, 1, 1, 1), (1, 1), (1, 1), (0, 0), False),
    ((1, 2, 7, 6), (3, 2), (2, 3), (1, 0), True),
    ((2, 8, 11), (3,), (2,), (1,), True),
    ((1, 2, 4, 5, 3), (2, 3, 1), (1, 2, 1), (0, 1, 0), False),
    ((2, 5, 5), (3, 3), (1, 1), (1, 1), False),
]
MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
MEAN = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


@pytest.mark.parametrize(("shape", "kernel", "stride", "padding", "ceil"), POOLS)
def test_max_pool(shape, kernel, stride, padding, ceil):
    x = torch.randn(shape)
    expected = MAX[len(kernel)](x, kernel, stride, padding, 1, ceil)
    attrs = {"kernel": kernel, "stride": stride, "padding": pads(padding), "dilation": (1,) * len(kernel)}
    same(compute("max_pool", [x], [("f32", expected.shape)], **attrs)[0], expected)


def test_max_pool_with_dilation_of_integers():
    x = torch.randint(-99, -9, (1, 2, 9, 9))
    expected = F.max_pool2d(x, 3, 1, 1, (2, 2))
    attrs = {"kernel": (3, 3), "stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (2, 2)}
    same(compute("max_pool", [x], [("i64", expected.shape)], **attrs)[0], expected)


def test_nan_wins_in_max_pool():
    x = torch.randn(1, 1, 6, 6)
    x[0, 0, 2, 3] = math.nan
    expected = F.max_pool2d(x, 2)
    attrs = {"kernel": (2, 2), "stride": (2, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)}
    same(compute("max_pool", [x], [("f32", expected.shape)], **attrs)[0], expected)


@pytest.mark.parametrize(("shape", "kernel", "stride", "padding", "ceil"), POOLS)
@pytest.mark.parametrize("include", [True, False])
def test_avg_pool(shape, kernel, stride, padding, ceil, include):
    x = torch.randn(shape)
    expected = MEAN[len(kernel)](x, kernel, stride, padding, ceil, include)
    attrs = {
        "kernel": kernel,
        "stride": stride,
        "padding": pads(padding),
        "count_include_pad": include,
        "divisor": None,
    }
    same(compute("avg_pool", [x], [("f32", expected.shape)], **attrs)[0], expected)


def test_avg_pool_with_its_own_divisor():
    x = torch.randn(1, 2, 6, 6)
    expected = F.avg_pool2d(x, 3, 1, 1, divisor_override=7)
    attrs = {"kernel": (3, 3), "stride": (1, 1), "padding": ((1, 1), (1, 1)), "count_include_pad": True, "divisor": 7}
    same(compute("avg_pool", [x], [("f32", expected.shape)], **attrs)[0], expected)


ADAPTIVE = [
    ((1, 3, 7, 7), (1, 1)),
    ((1, 2, 12, 8), (3, 4)),
    ((2, 1, 7, 10), (3, 4)),
    ((1, 1, 3, 2), (5, 7)),
    ((1, 2, 13), (5,)),
    ((1, 2, 4, 5, 6), (2, 3, 6)),
]


@pytest.mark.parametrize(("shape", "out"), ADAPTIVE)
def test_adaptive_pools(shape, out):
    x = torch.randn(shape)
    rank = len(out)
    mean = getattr(F, f"adaptive_avg_pool{rank}d")(x, out)
    most = getattr(F, f"adaptive_max_pool{rank}d")(x, out)
    same(compute("adaptive_avg_pool", [x], [("f32", mean.shape)])[0], mean)
    same(compute("adaptive_max_pool", [x], [("f32", most.shape)])[0], most)


def test_equal_adaptive_windows_are_plain_reductions():
    context = context_of("adaptive_avg_pool", [np.zeros((1, 2, 6, 9), np.float32)], [("f32", (1, 2, 3, 3))], {})
    (nest,) = lower.adaptive_avg_pool(context)
    assert " if " not in str(nest)
    assert "reduce kh in 2, kw in 3" in str(nest)


def test_positions_and_integer_means_are_refused_with_a_reason():
    x = [np.zeros((1, 1, 4, 4), np.int64)]
    both = context_of("adaptive_max_pool", x, [("i64", (1, 1, 2, 2))] * 2, {}).node
    assert "positions" in CHECKS["adaptive_max_pool"](both).why
    whole = context_of("adaptive_avg_pool", x, [("i64", (1, 1, 2, 2))], {}).node
    assert "i64" in CHECKS["adaptive_avg_pool"](whole).why


INDEXED = {2: torch.ops.aten.max_pool2d_with_indices, 3: torch.ops.aten.max_pool3d_with_indices}
BACKWARD = {2: torch.ops.aten.max_pool2d_with_indices_backward, 3: torch.ops.aten.max_pool3d_with_indices_backward}


def check_max_pool_gradient(x, kernel, stride, padding, dilation, ceil):
    space = len(kernel)
    attrs = {"kernel": kernel, "stride": stride, "padding": pads(padding), "dilation": dilation}
    values, indices = INDEXED[space](x, kernel, stride, padding, dilation, ceil)
    (found,) = compute("max_pool_indices", [x, values], [("i64", values.shape)], **attrs)
    np.testing.assert_array_equal(found, indices.numpy())
    dy = torch.randn(values.shape)
    expected = BACKWARD[space](dy, x, kernel, stride, padding, dilation, ceil, indices)
    (gradient,) = compute("max_pool_backward", [dy, indices], [("f32", x.shape)], **attrs)
    same(gradient, expected)


@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "padding", "dilation", "ceil"),
    [
        ((1, 2, 7, 9), (3, 3), (2, 2), (1, 1), (1, 1), False),
        ((2, 1, 5, 5), (2, 2), (2, 2), (0, 0), (1, 1), False),
        ((1, 2, 7, 6), (3, 2), (2, 3), (1, 0), (1, 1), True),
        ((1, 1, 8, 8), (3, 2), (1, 2), (1, 1), (2, 3), False),
        ((1, 2, 4, 5, 3), (2, 3, 1), (1, 2, 1), (0, 1, 0), (1, 1, 1), False),
    ],
)
def test_indices_and_gradient_of_max_pool(shape, kernel, stride, padding, dilation, ceil):
    torch.manual_seed(0)
    check_max_pool_gradient(torch.randn(shape), kernel, stride, padding, dilation, ceil)


def test_of_equal_maxima_the_first_gets_the_gradient():
    for x in (torch.zeros(1, 1, 6, 6), torch.full((1, 1, 6, 6), -math.inf)):
        check_max_pool_gradient(x, (3, 3), (2, 2), (1, 1), (1, 1), False)
