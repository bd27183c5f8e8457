"""Softmax and norms against eager, computed in f64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from loops.interpret import compute, context_of
from strop.loops.ir import Nest
from strop.loops.lower import LOWERINGS

torch.manual_seed(0)
X = torch.randn(2, 3, 5)
IMAGE = torch.randn(2, 6, 3, 2)


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_along_any_dimension(op, dim):
    (got,) = compute(op, [X], [("f32", X.shape)], dim=dim)
    np.testing.assert_allclose(got, getattr(functional, op)(X, dim), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_softmax_where_eager_meets_its_limits(op):
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([[-inf, 1.0, 2.0], [-inf, -inf, -inf], [1000.0, -1000.0, 0.0], [nan, 1.0, 2.0], [inf, 1.0, 2.0]])
    (got,) = compute(op, [x], [("f32", x.shape)], dim=1)
    np.testing.assert_allclose(got, getattr(functional, op)(x, 1), rtol=1e-6)


def test_softmax_of_a_0d_tensor_is_one():
    (got,) = compute("softmax", [torch.tensor(3.0)], [("f32", ())], dim=0)
    assert got == 1.0


def test_softmax_computes_each_power_once():
    (nest,) = LOWERINGS["softmax"](context_of("softmax", [X.numpy()], [("f32", X.shape)], {"dim": 2}))
    assert isinstance(nest, Nest)
    assert str(nest).count("exp_nonpositive(") == 1


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize(("has_weight", "has_bias"), [(True, True), (True, False), (False, False)])
def test_layer_norm(axes, has_weight, has_bias):
    shape = X.shape[3 - axes :]
    weight, bias = torch.randn(shape), torch.randn(shape)
    inputs = [X, *[weight] * has_weight, *[bias] * has_bias]
    want = functional.layer_norm(X, shape, weight if has_weight else None, bias if has_bias else None, 1e-5)
    attrs = {"axes": axes, "eps": 1e-5, "has_weight": has_weight, "has_bias": has_bias}
    (got,) = compute("layer_norm", inputs, [("f32", X.shape)], **attrs)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_layer_norm_with_a_bias_alone():
    bias = torch.randn(5)
    (got,) = compute("layer_norm", [X, bias], [("f32", X.shape)], axes=1, eps=1e-5, has_weight=False, has_bias=True)
    np.testing.assert_allclose(got, functional.layer_norm(X, (5,), None, bias), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_rms_norm(offset):
    weight = torch.randn(5)
    want = functional.rms_norm(X, (5,), weight + offset, 1e-6)
    attrs = {"axes": 1, "eps": 1e-6, "has_weight": True, "offset": offset}
    (got,) = compute("rms_norm", [X, weight], [("f32", X.shape)], **attrs)
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_group_norm_and_instance_norm(groups):
    weight, bias = torch.randn(6), torch.randn(6)
    want = functional.group_norm(IMAGE, groups, weight, bias, 1e-5)
    attrs = {"groups": groups, "eps": 1e-5, "has_weight": True, "has_bias": True}
    (got,) = compute("group_norm", [IMAGE, weight, bias], [("f32", IMAGE.shape)], **attrs)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 6, 512), (1, 6, 41), (1, 4, 3, 2, 5), (2, 4, 7, 1)])
def test_groups_of_any_space(shape):
    x = torch.randn(shape)
    attrs = {"groups": 2, "eps": 1e-5, "has_weight": False, "has_bias": False}
    (got,) = compute("group_norm", [x], [("f32", shape)], **attrs)
    np.testing.assert_allclose(got, functional.group_norm(x, 2), rtol=1e-4, atol=1e-6)


def test_groups_far_from_zero_keep_their_digits():
    x = torch.randn(1, 4, 30, 30) + 1000
    attrs = {"groups": 2, "eps": 1e-5, "has_weight": False, "has_bias": False}
    (got,) = compute("group_norm", [x], [("f32", x.shape)], **attrs)
    np.testing.assert_allclose(got, functional.group_norm(x.double(), 2), rtol=1e-3, atol=1e-3)


def test_group_norm_without_space():
    x = torch.randn(3, 4)
    attrs = {"groups": 2, "eps": 1e-5, "has_weight": False, "has_bias": False}
    (got,) = compute("group_norm", [x], [("f32", x.shape)], **attrs)
    np.testing.assert_allclose(got, functional.group_norm(x, 2), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("has_weight", "has_bias"), [(True, True), (False, True), (False, False)])
@pytest.mark.parametrize("x", [IMAGE, torch.randn(4, 6)])
def test_batch_norm(x, has_weight, has_bias):
    mean, var, weight, bias = torch.randn(6), torch.rand(6), torch.randn(6), torch.randn(6)
    inputs = [x, mean, var, *[weight] * has_weight, *[bias] * has_bias]
    want = functional.batch_norm(x, mean, var, weight if has_weight else None, bias if has_bias else None, eps=1e-3)
    (got,) = compute("batch_norm", inputs, [("f32", x.shape)], eps=1e-3, has_weight=has_weight, has_bias=has_bias)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
