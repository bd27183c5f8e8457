"""Winograd's convolution equals the direct one."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from loops.interpret import context_of, execute
from strop.loops.lower.winograd import images_of_strip, winograd, winograd_applies
from strop.loops.lower.winograd_transforms import transforms

PLAIN = {"stride": (1, 1), "dilation": (1, 1), "groups": 1, "transposed": False, "output_padding": (0, 0)}


@pytest.mark.parametrize(("tile", "count"), [(2, 3), (4, 3), (5, 2), (3, 2), (3, 4), (2, 5)])
def test_the_transforms_convolve_exactly(tile, count):
    at, g, bt = transforms(tile, count)
    window = tile + count - 1
    signal, taps = [3, -1, 4, 1, -5, 9][:window], [2, 7, -1, 5, 3][:count]
    mixed = [sum(b * x for b, x in zip(bt[i], signal)) * sum(a * w for a, w in zip(g[i], taps)) for i in range(window)]
    result = [sum(a * m for a, m in zip(row, mixed)) for row in at]
    assert result == [sum(taps[k] * signal[i + k] for k in range(count)) for i in range(tile)]


@pytest.mark.parametrize("window", [4, 6])
@pytest.mark.parametrize(
    ("x", "out", "padding"),
    [
        ((1, 3, 8, 8), 4, (1, 1)),
        ((2, 2, 7, 5), 5, (1, 1)),
        ((1, 1, 3, 3), 1, (0, 0)),
        ((1, 4, 10, 14), 18, (0, 1)),
    ],
)
@pytest.mark.parametrize("bias", [True, False])
def test_equals_the_direct_convolution(window, x, out, padding, bias):
    inputs = [torch.randn(x), torch.randn(out, x[1], 3, 3)] + [torch.randn(out)] * bias
    expected = F.conv2d(*inputs, padding=padding)
    attrs = {**PLAIN, "padding": tuple((p, p) for p in padding)}
    (result,) = execute(lambda c: winograd(c, window), "conv", inputs, [("f32", expected.shape)], attrs)
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("batch", "strip", "images"), [(6, 12, 3), (4, 16, 4), (5, 16, 1), (2, 3, 1)])
def test_tiles_of_several_small_images_make_a_strip(batch, strip, images):
    inputs = [torch.randn(batch, 3, 4, 3), torch.randn(4, 3, 3, 3), torch.randn(4)]
    expected = F.conv2d(*inputs, padding=1)
    attrs = {**PLAIN, "padding": ((1, 1), (1, 1))}
    (result,) = execute(lambda c: winograd(c, 4, strip), "conv", inputs, [("f32", expected.shape)], attrs)
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-5, atol=1e-5)
    assert images_of_strip(batch, 4, strip) == images


def test_the_weight_transform_reads_the_weight_alone():
    arrays = [np.zeros(s, np.float32) for s in ((1, 4, 8, 8), (16, 4, 3, 3), (16,))]
    context = context_of("conv", arrays, [("f32", (1, 16, 8, 8))], {**PLAIN, "padding": ((1, 1), (1, 1))})
    first, *rest = winograd(context)
    assert [b.name for b in first.reads] == ["in1"]
    assert all("in1" not in [b.name for b in nest.reads] for nest in rest)


@pytest.mark.parametrize(
    ("x", "weight", "attrs"),
    [
        ((1, 2, 11), (4, 2, 3), {"padding": 1}),
        ((2, 2, 13), (3, 2, 5), {"padding": 4, "dilation": 2}),
        ((1, 4, 9, 7), (6, 2, 3, 3), {"groups": 2, "padding": 1}),
        ((1, 2, 9, 10), (4, 2, 2, 3), {"dilation": (3, 2), "padding": (1, 2)}),
        ((1, 2, 8, 12), (4, 2, 3, 5), {"stride": (2, 1), "padding": (1, 0)}),
        ((1, 2, 4, 7, 6), (4, 2, 3, 3, 3), {"padding": 1}),
        ((1, 2, 23), (3, 2, 7), {"padding": 3}),
        ((1, 2, 40), (3, 2, 11), {"padding": 15, "dilation": 3}),
        ((1, 2, 9, 12), (3, 2, 6, 9), {"padding": (2, 4)}),
        ((1, 2, 5, 4, 6), (4, 2, 3, 1, 1), {"padding": (1, 0, 0)}),
        ((1, 2, 5, 4, 6), (4, 2, 2, 3, 3), {"stride": (2, 1, 1), "padding": (0, 1, 1), "dilation": (1, 1, 2)}),
    ],
)
def test_tiles_lie_along_whatever_dimension_allows_it(x, weight, attrs):
    inputs = [torch.randn(x), torch.randn(weight), torch.randn(weight[0])]
    expected = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[len(x) - 2](*inputs, **attrs)
    (result,) = execute(winograd, "conv", inputs, [("f32", expected.shape)], _attrs(len(x) - 2, **attrs))
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("x", "weight", "attrs"),
    [
        ((1, 4, 5, 6), (4, 3, 4, 4), {"stride": 2, "padding": 1}),
        ((2, 4, 5, 4), (4, 2, 3, 5), {"stride": 2, "padding": (1, 2), "output_padding": 1, "groups": 2}),
        ((1, 2, 4, 5), (2, 3, 6, 4), {"stride": (3, 1), "output_padding": (2, 0)}),
        ((1, 2, 7), (2, 3, 8), {"stride": 4, "padding": 3}),
        ((1, 2, 9), (2, 3, 13), {"stride": 2, "padding": 5, "output_padding": 1}),
        ((1, 2, 3, 4, 3), (2, 2, 4, 4, 3), {"stride": (2, 2, 1), "padding": 1}),
    ],
)
def test_phases_of_a_transposed_convolution_are_plain_ones(x, weight, attrs):
    inputs = [torch.randn(x), torch.randn(weight), torch.randn(weight[1] * attrs.get("groups", 1))]
    transposed = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
    expected = transposed[len(x) - 2](*inputs, **attrs)
    given = _attrs(len(x) - 2, **attrs, transposed=True)
    (result,) = execute(winograd, "conv", inputs, [("f32", expected.shape)], given)
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-4, atol=1e-4)


def _attrs(space, padding=0, groups=1, transposed=False, **each):
    found = {"groups": groups, "transposed": transposed}
    for name, missing in (("stride", 1), ("dilation", 1), ("output_padding", 0)):
        value = each.get(name, missing)
        found[name] = (value,) * space if isinstance(value, int) else value
    pads = (padding,) * space if isinstance(padding, int) else padding
    return {**found, "padding": tuple((p, p) for p in pads)}


@pytest.mark.parametrize(
    ("weight", "change", "reason"),
    [
        ((4, 2, 17, 17), {}, "17×17"),
        ((4, 2, 1, 1), {}, "1×1"),
        ((4, 2, 3, 3), {"stride": (2, 2)}, "stride 1"),
        ((2, 4, 3, 3), {"stride": (2, 2), "dilation": (2, 2), "transposed": True}, "not with both"),
    ],
)
def test_refusals_carry_their_reason(weight, change, reason):
    arrays = [np.zeros((1, 2, 8, 8), np.float32), np.zeros(weight, np.float32)]
    node = context_of("conv", arrays, [("f32", (1, 4, 8, 8))], {**PLAIN, "padding": ((1, 1), (1, 1)), **change}).node
    verdict = winograd_applies(node)
    assert not verdict and reason in verdict.why
