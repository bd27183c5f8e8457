"""Matrix products and convolutions: the nests compute what torch computes."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from loops.interpret import compute, context_of
from strop.loops.lower import CHECKS, LOWERINGS
from strop.loops.lower import contractions as _register  # noqa: F401


def rand(*shape, dtype=torch.float32):
    if dtype is torch.int64:
        return torch.randint(-9, 9, shape)
    return torch.randn(shape, dtype=dtype)


def same(result, expected):
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(5, 7), (1, 1), (2, 3, 4), (3,), (2, 0)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(shape, bias):
    x, w, b = rand(*shape), rand(11, shape[-1]), rand(11)
    inputs = [x, w, b] if bias else [x, w]
    expected = F.linear(*inputs)
    same(compute("linear", inputs, [("f32", expected.shape)])[0], expected)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 5), (5, 7)),
        ((1, 1), (1, 1)),
        ((2, 3, 5), (5, 7)),
        ((2, 1, 3, 5), (4, 5, 2)),
        ((3, 5), (2, 5, 1)),
        ((4, 0), (0, 3)),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_matmul_broadcasts_batch_dimensions(left, right, dtype):
    a, b = rand(*left, dtype=dtype), rand(*right, dtype=dtype)
    expected = a @ b
    name = "f32" if dtype is torch.float32 else "i64"
    same(compute("matmul", [a, b], [(name, expected.shape)])[0], expected)


def check_conv(x, w, bias, *, stride=1, padding=0, dilation=1, groups=1, transposed=False, output_padding=0):
    def whole(value):
        return (value,) * (x.ndim - 2) if isinstance(value, int) else tuple(value)

    stride, padding, dilation, output_padding = map(whole, (stride, padding, dilation, output_padding))
    b = rand(w.shape[1] * groups if transposed else w.shape[0]) if bias else None
    expected = torch.convolution(x, w, b, stride, padding, dilation, transposed, output_padding, groups)
    inputs = [x, w] if b is None else [x, w, b]
    (result,) = compute(
        "conv",
        inputs,
        [("f32", expected.shape)],
        stride=stride,
        padding=tuple((p, p) for p in padding),
        dilation=dilation,
        groups=groups,
        transposed=transposed,
        output_padding=output_padding,
    )
    same(result, expected)


@pytest.mark.parametrize(
    ("x", "w", "how"),
    [
        ((1, 3, 7, 5), (4, 3, 3, 3), {"padding": 1}),
        ((2, 2, 5, 5), (3, 2, 1, 1), {}),
        ((1, 1, 1, 1), (1, 1, 1, 1), {}),
        ((1, 2, 9, 8), (3, 2, 3, 2), {"stride": 2, "padding": (1, 0)}),
        ((1, 2, 11, 11), (2, 2, 3, 3), {"dilation": (2, 3), "padding": 2}),
        ((1, 6, 5, 5), (4, 3, 3, 3), {"groups": 2, "padding": 1}),
        ((1, 5, 7, 7), (5, 1, 3, 3), {"groups": 5, "padding": 1, "stride": 2}),
        ((1, 3, 6, 6), (6, 1, 3, 3), {"groups": 3}),
        ((2, 3, 10), (4, 3, 3), {"padding": 2, "dilation": 2}),
        ((1, 2, 4, 5, 3), (3, 2, 2, 3, 1), {"padding": (1, 1, 0), "stride": (1, 2, 1)}),
    ],
)
@pytest.mark.parametrize("bias", [True, False])
def test_convolution(x, w, how, bias):
    check_conv(rand(*x), rand(*w), bias, **how)


@pytest.mark.parametrize(
    ("x", "w", "how"),
    [
        ((1, 3, 4, 5), (3, 2, 2, 2), {"stride": 2}),
        ((2, 2, 3, 3), (2, 3, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
        ((1, 2, 5, 5), (2, 2, 3, 3), {"padding": 1}),
        ((1, 2, 4, 4), (2, 2, 3, 3), {"dilation": 2, "padding": 1}),
        ((1, 2, 4, 4), (2, 2, 3, 3), {"dilation": 2, "stride": 3, "output_padding": 1}),
        ((1, 4, 3, 3), (4, 2, 3, 3), {"groups": 2, "stride": 2}),
        ((1, 3, 4, 4), (3, 1, 4, 4), {"groups": 3, "stride": 2, "padding": 1}),
        ((1, 2, 5), (2, 3, 5), {"stride": 3, "padding": 2}),
        ((1, 2, 2, 3, 2), (2, 2, 2, 2, 3), {"stride": (2, 1, 2)}),
        ((1, 2, 3, 3), (2, 2, 1, 1), {"stride": 2}),
    ],
)
def test_transposed_convolution(x, w, how):
    check_conv(rand(*x), rand(*w), True, transposed=True, **how)


@pytest.mark.parametrize(
    ("x", "w", "how"),
    [
        ((2, 3, 4, 5), (3, 4, 1, 1), {"stride": 2, "output_padding": 1}),
        ((1, 4, 3, 3), (4, 3, 1, 1), {"stride": (3, 1), "groups": 2, "padding": (1, 0)}),
        ((1, 2, 5), (2, 3, 1), {"stride": 4, "output_padding": 3}),
    ],
)
def test_one_tap_at_every_nth_point(x, w, how):
    check_conv(rand(*x), rand(*w), False, transposed=True, **how)


def test_one_tap_at_every_nth_point_is_multiplied_where_there_are_pixels_only():
    attrs = {"stride": (2, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "output_padding": (1, 1)}
    arrays = [np.zeros(shape, np.float32) for shape in ((2, 3, 4, 5), (3, 6, 1, 1))]
    context = context_of("conv", arrays, [("f32", (2, 6, 8, 10))], {**attrs, "groups": 1, "transposed": True})
    products, spread = LOWERINGS["conv"](context)
    assert products.iterations == 2 * 6 * 4 * 5 and len(spread.body) == len(spread.stores) == 1


def test_convolution_pads_each_side_on_its_own():
    x, w = rand(1, 2, 5, 6), rand(2, 2, 3, 3)
    expected = F.conv2d(F.pad(x, (0, 2, 1, 0)), w)
    (result,) = compute(
        "conv",
        [x, w],
        [("f32", expected.shape)],
        stride=(1, 1),
        padding=((1, 0), (0, 2)),
        dilation=(1, 1),
        groups=1,
        transposed=False,
        output_padding=(0, 0),
    )
    same(result, expected)


def test_four_space_dimensions_are_refused_with_a_reason():
    shape = (1, 1, 2, 2, 2, 2)
    node = context_of("conv", [np.zeros(shape, np.float32)] * 2, [("f32", shape)], {}).node
    verdict = CHECKS["conv"](node)
    assert not verdict and "6-d" in verdict.why
