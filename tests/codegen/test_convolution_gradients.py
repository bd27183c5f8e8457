"""Gradients of convolutions: native code computes what torch computes, and nothing is left to the library."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import strop


class Backward(torch.nn.Module):
    def __init__(self, mask=(True, True, True), **how):
        super().__init__()
        self.mask, self.how = mask, how

    def forward(self, dy, x, weight):
        rank = x.ndim - 2
        given = {"stride": 1, "padding": 0, "dilation": 1, "output_padding": 0, **self.how}
        stride, padding, dilation, rest = (
            [given[name]] * rank for name in ("stride", "padding", "dilation", "output_padding")
        )
        transposed, groups = given.get("transposed", False), given.get("groups", 1)
        bias = weight.shape[1] * groups if transposed else weight.shape[0]
        found = torch.ops.aten.convolution_backward(
            dy, x, weight, [bias], stride, padding, dilation, transposed, rest, groups, list(self.mask)
        )
        return tuple(gradient for gradient, wanted in zip(found, self.mask) if wanted)


def check(x_shape, weight_shape, mask=(True, True, True), threads=1, **how):
    torch.manual_seed(0)
    x, weight = torch.randn(x_shape), torch.randn(weight_shape)
    rank = len(x_shape) - 2
    given = {"stride": 1, "padding": 0, "dilation": 1, "transposed": False, "output_padding": 0, "groups": 1, **how}
    spread = {
        k: [v] * rank if isinstance(v, int) and not isinstance(v, bool) and k != "groups" else v
        for k, v in given.items()
    }
    y = torch.convolution(x, weight, None, **spread)
    dy = torch.randn_like(y)
    model = Backward(mask, **how)
    session = strop.Session(model, (dy, x, weight), threads=threads)
    assert not session.summary()["library_nodes"]
    with torch.no_grad():
        found = session.module(dy, x, weight)
    for got, exact in zip(found, model(dy.double(), x.double(), weight.double()), strict=True):
        torch.testing.assert_close(got.double(), exact, rtol=1e-4, atol=1e-5 * exact.abs().max().item())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("x", "weight", "how"),
    [
        ((2, 16, 9, 9), (32, 16, 3, 3), {"padding": 1}),
        ((2, 16, 9, 8), (24, 16, 3, 3), {"padding": 1, "stride": 2}),
        ((2, 20, 7, 7), (12, 20, 1, 1), {}),
        ((2, 12, 9, 9), (8, 3, 3, 3), {"groups": 4, "dilation": 2, "padding": 2}),
        ((2, 16, 10, 10), (16, 1, 5, 5), {"groups": 16, "padding": 2, "stride": 2}),
        ((3, 4, 17), (6, 4, 3), {"padding": 1}),
        ((1, 3, 6, 5, 4), (4, 3, 3, 2, 2), {"padding": 1}),
        ((2, 8, 5, 5), (8, 6, 3, 3), {"transposed": True, "stride": 2, "padding": 1, "output_padding": 1}),
        ((2, 8, 5, 5), (8, 3, 2, 2), {"transposed": True, "groups": 2}),
    ],
)
def test_every_gradient_of_every_kind(x, weight, how, threads):
    check(x, weight, threads=threads, **how)


@pytest.mark.parametrize("position", range(3))
def test_one_gradient_alone(position):
    check((2, 8, 6, 6), (8, 8, 3, 3), tuple(i == position for i in range(3)), padding=1)


@settings(max_examples=15, deadline=None)
@given(
    batch=st.integers(1, 3), groups=st.sampled_from([1, 1, 2, 3]), inside=st.integers(1, 6), outside=st.integers(1, 6),
    extent=st.integers(3, 9), kernel=st.integers(1, 3), stride=st.integers(1, 3), padding=st.integers(0, 2),
    dilation=st.integers(1, 2),
)  # fmt: skip
def test_any_small_convolution(batch, groups, inside, outside, extent, kernel, stride, padding, dilation):
    if extent + 2 * padding < dilation * (kernel - 1) + 1:
        return
    check(
        (batch, groups * inside, extent, extent + 1), (groups * outside, inside, kernel, kernel),
        stride=stride, padding=padding, dilation=dilation, groups=groups,
    )  # fmt: skip


def test_an_output_padding_of_more_than_the_stride():
    check((2, 4, 5, 6), (4, 3, 3, 3), transposed=True, stride=2, dilation=4, output_padding=3)
