"""Concatenation, padding in every mode, and reads that may fall outside."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from loops.interpret import compute, run
from strop.loops.index import Var, index_of, indirect
from strop.loops.ir import Apply, Buffer, Const, Expr, Guard, Load, Loop, Nest, Number, Store
from strop.loops.lower.concat_pad import guarded
from strop.loops.lower.pointwise import apply

X = torch.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cat(dim):
    parts = [X, X + 100, X.narrow(dim, 0, 1) - 50, X.narrow(dim, 0, 0)]
    want = torch.cat(parts, dim)
    (got,) = compute("cat", parts, [("f32", want.shape)], dim=dim)
    np.testing.assert_array_equal(got, want)


def test_cat_lets_a_1d_empty_tensor_join():
    (got,) = compute("cat", [torch.zeros(0), X], [("f32", X.shape)], dim=1)
    np.testing.assert_array_equal(got, X)


@pytest.mark.parametrize("pads", [((1, 2), (0, 3), (2, 0)), ((-1, 0), (1, -1), (-2, 3)), ((0, 0), (0, 0), (-1, -1))])
def test_pad_with_a_constant(pads):
    want = functional.pad(X, [p for pair in reversed(pads) for p in pair], value=7.5)
    (got,) = compute("pad", [X], [("f32", want.shape)], pads=pads, mode="constant", value=7.5)
    np.testing.assert_array_equal(got, want)


def test_pad_of_nothing_is_the_constant():
    (got,) = compute("pad", [torch.zeros(0, 2)], [("f32", (3, 2))], pads=((1, 2), (0, 0)), mode="constant", value=-1.0)
    np.testing.assert_array_equal(got, np.full((3, 2), -1.0))


def test_pad_of_integers_and_booleans():
    for x in (torch.tensor([1, 2, 3]), torch.tensor([True, True])):
        kind = "i64" if x.dtype == torch.int64 else "bool"
        (got,) = compute("pad", [x], [(kind, (len(x) + 2,))], pads=((1, 1),), mode="constant", value=0)
        np.testing.assert_array_equal(got, functional.pad(x, (1, 1)))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("pads", [((1, 2), (2, 3)), ((0, 2), (-1, 2)), ((2, -1), (3, -2)), ((2, 2), (0, 0))])
def test_pad_from_the_tensor_itself(mode, pads):
    x = torch.arange(20.0).reshape(1, 1, 4, 5)
    want = functional.pad(x, [p for pair in reversed(pads) for p in pair], mode=mode)
    (got,) = compute("pad", [x], [("f32", want.shape)], pads=((0, 0), (0, 0), *pads), mode=mode, value=None)
    np.testing.assert_array_equal(got, want)


# ---- guarded reads: element i-2 of a tensor of 3, for i in 0..7 ------------------------------------------------------

WHERE = Var("i", 7)
SHIFTED = index_of(WHERE) - 2
INSIDE = (Guard(SHIFTED, 3),)
VALUES = Buffer("x", "f32", (3,), "input")


def values_of(expr: Expr, **arrays: np.ndarray) -> list[float]:
    out = Buffer("out", expr.dtype, (7,), "output")
    nest = Nest((Loop(WHERE),), (Store(out, (index_of(WHERE),), expr),), name="test")
    return run([nest], dict(arrays))["out"].tolist()


def test_a_load_takes_the_guards_itself():
    expr = guarded(Load(VALUES, (SHIFTED,)), INSIDE, 9.0)
    assert isinstance(expr, Load)
    assert values_of(expr, x=np.float32([1, 2, 3])) == [9, 9, 1, 2, 3, 9, 9]


def test_an_expression_is_chosen_as_a_whole():
    doubled = apply("exp", Load(VALUES, (SHIFTED,)))
    expr = guarded(doubled, INSIDE, 9.0)
    assert isinstance(expr, Apply)
    np.testing.assert_allclose(values_of(expr, x=np.float32([0, 0, 0])), [9, 9, 1, 1, 1, 9, 9])


def test_guards_nest_with_different_values_outside():
    inner = guarded(Load(VALUES, (SHIFTED,)), INSIDE, 9.0)
    expr = guarded(inner, (Guard(index_of(WHERE) - 1, 5),), -1.0)
    assert values_of(expr, x=np.float32([1, 2, 3])) == [-1, 9, 1, 2, 3, 9, -1]


def test_the_loads_of_an_index_are_guarded_too():
    order = Buffer("order", "i64", (3,), "input")
    expr = guarded(Load(VALUES, (indirect(Load(order, (SHIFTED,)), 3),)), INSIDE, 9.0)
    assert values_of(expr, x=np.float32([1, 2, 3]), order=np.array([2, 0, 1])) == [9, 9, 3, 1, 2, 9, 9]


def test_guards_that_always_hold_are_not_written():
    load = Load(VALUES, (index_of(Var("k", 3)),))
    assert guarded(load, (Guard(index_of(Var("k", 3)), 3),), 0.0) is load


def test_a_constant_that_is_the_other_value_stays():
    zero = Const(0.0, "f32")
    assert guarded(zero, INSIDE, 0.0) is zero
    assert values_of(guarded(Number(SHIFTED, "i64"), INSIDE, -5)) == [-5, -5, 0, 1, 2, -5, -5]
