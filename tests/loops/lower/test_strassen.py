"""Strassen's matrix product equals the direct one."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from loops.interpret import context_of, execute
from strop.loops.lower.strassen import LEFT, PRODUCTS, RESULT, RIGHT, strassen

PLAIN = {"stride": (1, 1), "dilation": (1, 1), "groups": 1, "transposed": False, "output_padding": (0, 0)}
PLAIN |= {"padding": ((0, 0), (0, 0))}


def test_seven_products_of_quarters_make_the_four_of_the_result():
    a, b = np.random.default_rng(0).integers(-9, 9, (2, 4))
    products = [np.dot(LEFT[i], a) * np.dot(RIGHT[i], b) for i in range(PRODUCTS)]
    expected = a.reshape(2, 2) @ b.reshape(2, 2)
    assert np.array_equal(np.dot(RESULT, products).reshape(2, 2), expected)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 19),
    depth=st.integers(1, 5).map(lambda half: 2 * half),
    blocks=st.integers(1, 3),
    block=st.integers(1, 4),
    strip=st.integers(1, 3),
    tile=st.integers(1, 4),
    bias=st.booleans(),
)
def test_equals_the_direct_product(rows, depth, blocks, block, strip, tile, bias):
    if -(-rows // (2 * strip * tile)) * strip * tile > rows:
        return
    columns = 2 * blocks * block
    inputs = [torch.randn(1, rows, depth), torch.randn(columns, depth)] + [torch.randn(columns)] * bias
    expected = F.linear(*inputs)
    (result,) = execute(lambda c: strassen(c, strip, tile, block), "linear", inputs, [("f32", expected.shape)], {})
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(4, 6, 4), (2, 3, 4)])
def test_rows_of_several_dimensions_are_paired_as_one(shape):
    inputs = [torch.randn(shape), torch.randn(8, shape[-1])]
    expected = F.linear(*inputs)
    (result,) = execute(lambda c: strassen(c, 1, 3, 2), "linear", inputs, [("f32", expected.shape)], {})
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-4, atol=1e-4)


def test_equals_the_direct_convolution_of_single_pixels():
    inputs = [torch.randn(2, 6, 3, 4), torch.randn(8, 6, 1, 1), torch.randn(8)]
    expected = F.conv2d(*inputs)
    (result,) = execute(lambda c: strassen(c, 2, 3, 4), "conv", inputs, [("f32", expected.shape)], PLAIN)
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-4, atol=1e-4)


def test_the_weights_are_combined_from_the_weight_alone():
    arrays = [np.zeros(s, np.float32) for s in ((16, 8), (16, 8), (16,))]
    first, *rest = strassen(context_of("linear", arrays, [("f32", (16, 16))], {}), 1, 4, 4)
    assert [b.name for b in first.reads] == ["in1"]
    assert all("in1" not in [b.name for b in nest.reads] for nest in rest)
