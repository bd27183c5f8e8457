"""Products of pairs equal the direct ones."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from loops.interpret import context_of, execute
from strop.loops.lower.winograd_inner_product import winograd_inner_product

PLAIN = {"stride": (1, 1), "dilation": (1, 1), "groups": 1, "transposed": False, "output_padding": (0, 0)}
PLAIN |= {"padding": ((0, 0), (0, 0))}


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 9),
    terms=st.integers(1, 27),
    blocks=st.integers(1, 2),
    block=st.integers(1, 4),
    strip=st.integers(1, 3),
    tile=st.integers(1, 4),
    depth=st.integers(1, 4),
    shares=st.integers(1, 3),
    bias=st.booleans(),
    stepwise=st.booleans(),
)
def test_equals_the_direct_product(rows, terms, blocks, block, strip, tile, depth, shares, bias, stepwise):
    columns = shares * blocks * block
    inputs = [torch.randn(1, rows, terms), torch.randn(columns, terms)] + [torch.randn(columns)] * bias
    expected = F.linear(*inputs)

    def lowered(c):
        return winograd_inner_product(c, strip, tile, block, depth, shares, stepwise)

    (result,) = execute(lowered, "linear", inputs, [("f32", expected.shape)], {})
    assert torch.allclose(torch.as_tensor(result), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("shape", [(1, 4, 3), (2, 3, 2)])
def test_rows_of_an_image_are_its_pixels(shape):
    batch, height, width = shape
    inputs = [torch.randn(batch, 7, height, width), torch.randn(6, 7, 1, 1), torch.randn(6)]
    expected = F.conv2d(*inputs)
    (result,) = execute(
        lambda c: winograd_inner_product(c, 2, 3, 3, 2), "conv", inputs, [("f32", expected.shape)], PLAIN
    )
    assert torch.allclose(torch.as_tensor(result), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("stride", [(2, 2), (1, 3)])
def test_strides_leave_pixels_out(stride):
    inputs = [torch.randn(1, 7, 5, 6), torch.randn(6, 7, 1, 1)]
    expected = F.conv2d(*inputs, stride=stride)
    attrs = PLAIN | {"stride": stride}
    (result,) = execute(
        lambda c: winograd_inner_product(c, 1, 3, 3, 2), "conv", inputs, [("f32", expected.shape)], attrs
    )
    assert torch.allclose(torch.as_tensor(result), expected, atol=1e-5, rtol=1e-5)


def test_six_terms_take_four_products():
    inputs = [np.zeros(shape, np.float32) for shape in ((1, 12, 12), (4, 12))]
    context = context_of("linear", inputs, [("f32", (1, 12, 4))], {})
    _, multiply = winograd_inner_product(context, 2, 2, 2, 2)
    assert str(multiply).count("acc[] += ") == 4
