"""Winograd's convolution equals the direct one."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from loops.interpret import context_of, execute
from strop.loops.lower.winograd import transforms, winograd, winograd_applies

PLAIN = {"stride": (1, 1), "dilation": (1, 1), "groups": 1, "transposed": False, "output_padding": (0, 0)}


@pytest.mark.parametrize("tile", [2, 4])
def test_the_transforms_convolve_exactly(tile):
    at, g, bt = transforms(tile)
    signal, taps = [3, -1, 4, 1, -5, 9][: tile + 2], [2, 7, -1]
    mixed = [
        sum(b * x for b, x in zip(bt[i], signal)) * sum(a * w for a, w in zip(g[i], taps)) for i in range(tile + 2)
    ]
    result = [sum(a * m for a, m in zip(row, mixed)) for row in at]
    assert result == [sum(taps[k] * signal[i + k] for k in range(3)) for i in range(tile)]


@pytest.mark.parametrize("tile", [2, 4])
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
def test_equals_the_direct_convolution(tile, x, out, padding, bias):
    inputs = [torch.randn(x), torch.randn(out, x[1], 3, 3)] + [torch.randn(out)] * bias
    expected = F.conv2d(*inputs, padding=padding)
    attrs = {**PLAIN, "padding": tuple((p, p) for p in padding)}
    (result,) = execute(lambda c: winograd(c, tile), "conv", inputs, [("f32", expected.shape)], attrs)
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-5, atol=1e-5)


def test_the_weight_transform_reads_the_weight_alone():
    arrays = [np.zeros(s, np.float32) for s in ((1, 4, 8, 8), (16, 4, 3, 3), (16,))]
    context = context_of("conv", arrays, [("f32", (1, 16, 8, 8))], {**PLAIN, "padding": ((1, 1), (1, 1))})
    first, *rest = winograd(context)
    assert [b.name for b in first.reads] == ["in1"]
    assert all("in1" not in [b.name for b in nest.reads] for nest in rest)


@pytest.mark.parametrize(
    ("weight", "change", "reason"),
    [
        ((4, 2, 5, 5), {}, "5×5"),
        ((4, 2, 3, 3), {"stride": (2, 2)}, "stride 1"),
        ((4, 2, 3, 3), {"groups": 2}, "group"),
        ((4, 2, 3, 3), {"transposed": True}, "transposed"),
    ],
)
def test_refusals_carry_their_reason(weight, change, reason):
    arrays = [np.zeros((1, 2, 8, 8), np.float32), np.zeros(weight, np.float32)]
    node = context_of("conv", arrays, [("f32", (1, 4, 8, 8))], {**PLAIN, "padding": ((1, 1), (1, 1)), **change}).node
    verdict = winograd_applies(node)
    assert not verdict and reason in verdict.why
