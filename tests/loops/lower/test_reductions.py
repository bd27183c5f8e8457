"""Reductions against eager: dimensions kept or not, empty ranges, 0-d, NaN, integers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import strop
from loops.interpret import compute

X = torch.arange(24.0).reshape(2, 3, 4).sub(7).mul(0.3)
WITH_NAN = torch.tensor([[1.0, float("nan"), 5.0], [2.0, 7.0, 7.0], [-float("inf")] * 3])


@pytest.mark.parametrize("op", ["sum", "mean", "amax", "amin"])
@pytest.mark.parametrize("dims", [(0,), (1,), (-1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_dims_and_keepdim(op, dims, keepdim):
    want = getattr(X, op)(dims, keepdim)
    (got,) = compute(op, [X], [("f32", want.shape)], dims=dims, keepdim=keepdim)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_product_of_integers_wraps_in_the_nodes_dtype():
    x = torch.tensor([[2**31, 2**31, 4], [3, -5, 7]])
    (got,) = compute("prod", [x], [("i64", (2,))], dims=(1,), keepdim=False)
    np.testing.assert_array_equal(got, x.prod(1))


def test_a_sum_of_booleans_counts():
    x = torch.tensor([[True, False, True], [False, False, False]])
    (got,) = compute("sum", [x], [("i64", (2,))], dims=(1,), keepdim=False)
    np.testing.assert_array_equal(got, [2, 0])


@pytest.mark.parametrize("op", ["any", "all"])
@pytest.mark.parametrize("x", [torch.tensor([[0.0, float("nan")], [0.0, 0.0]]), torch.tensor([[1, 2], [0, 3]])])
def test_any_and_all_of_numbers(op, x):
    (got,) = compute(op, [x], [("bool", (2,))], dims=(1,), keepdim=False)
    np.testing.assert_array_equal(got, getattr(x, op)(1))


@pytest.mark.parametrize("op", ["amax", "amin"])
def test_nan_wins(op):
    (got,) = compute(op, [WITH_NAN], [("f32", (3,))], dims=(1,), keepdim=False)
    np.testing.assert_array_equal(got, getattr(WITH_NAN, op)(1))


@pytest.mark.parametrize("op", ["amax", "amin"])
def test_extremes_of_booleans(op):
    x = torch.tensor([[True, False], [True, True], [False, False]])
    (got,) = compute(op, [x], [("bool", (3,))], dims=(1,), keepdim=False)
    np.testing.assert_array_equal(got, getattr(x, op)(1))


@pytest.mark.parametrize(("op", "want"), [("sum", 0.0), ("prod", 1.0), ("mean", np.nan)])
def test_an_empty_range_gives_the_neutral_value(op, want):
    (got,) = compute(op, [torch.zeros(2, 0, 3)], [("f32", (2, 3))], dims=(1,), keepdim=False)
    np.testing.assert_array_equal(got, np.full((2, 3), want, np.float32))


def test_a_0d_tensor_is_its_own_sum():
    (got,) = compute("sum", [torch.tensor(3.0)], [("f32", ())], dims=(), keepdim=False)
    assert got == 3.0


@pytest.mark.parametrize("op", ["argmax", "argmin"])
@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("keepdim", [False, True])
def test_positions_are_the_first_and_nan_is_extreme(op, dim, keepdim):
    want = getattr(WITH_NAN, op)(dim=dim, keepdim=keepdim)
    (got,) = compute(op, [WITH_NAN], [("i64", want.shape)], dim=dim, keepdim=keepdim)
    np.testing.assert_array_equal(got, want)


def test_position_among_equal_integers():
    x = torch.tensor([[4, 9, 9, 1, 1]])
    (largest,) = compute("argmax", [x], [("i64", (1,))], dim=1, keepdim=False)
    (smallest,) = compute("argmin", [x], [("i64", (1,))], dim=-1, keepdim=False)
    assert (largest[0], smallest[0]) == (1, 3)


@pytest.mark.parametrize("correction", [0, 1, 2])
def test_variance_keeps_its_digits_far_from_zero(correction):
    x = torch.tensor([[1e4, 1e4 + 1, 1e4 + 2], [5.0, 5.0, 5.0]])
    want = x.double().var(1, correction=correction)
    (got,) = compute("var", [x], [("f32", (2,))], dims=(1,), correction=correction, keepdim=False)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_variance_of_one_element_is_nan():
    (got,) = compute("var", [torch.ones(2, 1)], [("f32", (2,))], dims=(1,), correction=1, keepdim=False)
    assert np.isnan(got).all()


@pytest.mark.parametrize("op", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_running_totals_go_in_order(op, dim):
    (got,) = compute(op, [X], [("f32", X.shape)], dim=dim)
    np.testing.assert_allclose(got, getattr(X, op)(dim), rtol=1e-6)


def test_running_totals_of_integers_and_of_a_0d_tensor():
    x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    (got,) = compute("cumsum", [x], [("i64", x.shape)], dim=1)
    np.testing.assert_array_equal(got, x.cumsum(1))
    (single,) = compute("cumsum", [torch.tensor(2.0)], [("f32", ())], dim=0)
    assert single == 2.0


def test_the_mean_of_a_large_image_keeps_its_digits():
    """One chain of additions per channel would be wrong by 1e-4."""

    x = torch.rand(1, 8, 300, 200) + 5
    exact = x.double().mean((2, 3))
    with torch.no_grad():
        got = strop.compile(_Mean(), (x,))(x)
    assert (got - exact).abs().max() < 4e-6


class _Mean(torch.nn.Module):
    def forward(self, x):
        return x.mean((2, 3))
