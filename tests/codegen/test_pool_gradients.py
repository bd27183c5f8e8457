"""Max pooling in training: native code finds torch's positions and gradients, and nothing is left to the library."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import strop

aten = torch.ops.aten


class Pool(torch.nn.Module):
    def __init__(self, *how):
        super().__init__()
        self.how = how

    def forward(self, x):
        return aten.max_pool2d_with_indices(x, *self.how)


class Backward(Pool):
    def forward(self, dy, x, indices):
        return aten.max_pool2d_with_indices_backward(dy, x, *self.how, indices)


def native(model, inputs, threads=1):
    session = strop.Session(model, inputs, threads=threads)
    assert not session.summary()["library_nodes"]
    with torch.no_grad():
        return session.module(*inputs)


def check(shape, *how, threads=1, last=False):
    torch.manual_seed(0)
    x = torch.randint(-3, 3, shape).float()  # with equal maxima
    x = x.to(memory_format=torch.channels_last) if last else x
    values, indices = Pool(*how)(x)
    found = native(Pool(*how), (x,), threads)
    torch.testing.assert_close(found[0], values, rtol=0, atol=0)
    assert torch.equal(found[1], indices)
    inputs = torch.randn_like(values), x, indices
    exact = Backward(*how)(inputs[0].double(), x.double(), indices)
    torch.testing.assert_close(native(Backward(*how), inputs, threads).double(), exact, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    "how",
    [(2, 2, 0, 1, False), (3, 2, 1, 1, False), (3, 1, 1, 1, False), (3, 2, 1, 1, True), ((2, 3), (1, 2), 1, 2, False)],
)
def test_positions_and_gradients(how, last, threads):
    check((2, 19, 17, 18), *how, threads=threads, last=last)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 1), st.integers(5, 20), st.integers(5, 20))
def test_random_shapes(kernel, stride, padding, height, width):
    check((1, 5, height, width), kernel, stride, min(padding, kernel // 2), 1, False)
