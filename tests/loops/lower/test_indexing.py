"""Reads and writes whose place is data, against eager."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from loops.interpret import compute
from strop.graph.ir import Node, Type
from strop.loops.lower import can_lower

X = torch.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_index_counts_negative_positions_from_the_end(dtype):
    i = torch.tensor([[0, -1], [2, -3]], dtype=dtype)
    (got,) = compute("index", [X, i], [("f32", (2, 2, 2, 4))], dims=(1,))
    np.testing.assert_array_equal(got, X[:, i.long()])


def test_index_by_tensors_that_broadcast():
    i, j = torch.tensor([[0], [2]]), torch.tensor([3, 0, -1])
    (got,) = compute("index", [X, i, j], [("f32", (2, 2, 3))], dims=(1, 2))
    np.testing.assert_array_equal(got, X[:, i, j])


def test_index_by_a_0d_tensor_removes_the_dimension():
    (got,) = compute("index", [X, torch.tensor(1)], [("f32", (2, 4))], dims=(1,))
    np.testing.assert_array_equal(got, X[:, 1])


@pytest.mark.parametrize("position", [3, -4])
def test_index_out_of_range_raises(position):
    with pytest.raises(IndexError):
        compute("index", [X, torch.tensor([position])], [("f32", (2, 1, 4))], dims=(1,))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gather_with_an_index_smaller_than_the_tensor(dim):
    index = torch.tensor([[[1, 0, 1], [0, 1, 1]]])
    (got,) = compute("gather", [X, index], [("f32", index.shape)], dim=dim)
    np.testing.assert_array_equal(got, X.gather(dim, index))


@pytest.mark.parametrize("op", ["gather", "scatter"])
def test_gather_and_scatter_refuse_negative_positions_as_eager_does(op):
    index = torch.tensor([[[-1]]])
    inputs = [X, index] if op == "gather" else [X, index, X]
    with pytest.raises(IndexError):
        compute(op, inputs, [("f32", index.shape if op == "gather" else X.shape)], dim=0, reduce=None)


def test_embedding():
    weight, index = torch.randn(5, 3), torch.tensor([[4, 0], [1, 4]])
    (got,) = compute("embedding", [weight, index], [("f32", (2, 2, 3))])
    np.testing.assert_array_equal(got, weight[index])
    with pytest.raises(IndexError):
        compute("embedding", [weight, torch.tensor([5])], [("f32", (1, 3))])


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_writes_repeated_positions_in_order(accumulate):
    i = torch.tensor([0, 2, 0, -1])
    value = torch.randn(2, 4, 4)
    (got,) = compute("index_put", [X, value, i], [("f32", X.shape)], dims=(1,), accumulate=accumulate)
    want = X.clone()
    for p, row in enumerate(i.tolist()):
        want[:, row] = want[:, row] + value[:, p] if accumulate else value[:, p]
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def test_index_put_broadcasts_its_value():
    i, j = torch.tensor([[0], [1]]), torch.tensor([2, 1])
    (got,) = compute("index_put", [X, torch.tensor(-1.0), i, j], [("f32", X.shape)], dims=(0, 1), accumulate=False)
    np.testing.assert_array_equal(got, X.index_put((i, j), torch.tensor(-1.0)))


def test_index_put_at_no_position_copies():
    nothing = torch.zeros(0, dtype=torch.int64)
    (got,) = compute("index_put", [X, torch.tensor(1.0), nothing], [("f32", X.shape)], dims=(0,), accumulate=True)
    np.testing.assert_array_equal(got, X)


@pytest.mark.parametrize("mode", [None, "add", "mul", "amax", "amin"])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_scatter_in_every_mode(mode, dim):
    index = torch.tensor([[[1, 0, 1], [0, 1, 1]], [[0, 0, 0], [1, 0, 1]]])
    src = torch.randn(2, 3, 4)
    (got,) = compute("scatter", [X, index, src], [("f32", X.shape)], dim=dim, reduce=mode)
    if mode is None:
        want = X.clone()
        for place in np.ndindex(*index.shape):
            target = list(place)
            target[dim] = int(index[place])
            want[tuple(target)] = src[place]
    else:
        name = {"add": "sum", "mul": "prod"}.get(mode, mode)
        want = X.scatter_reduce(dim, index, src[:, :2, :3], name)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def node(op: str, *types: Type, **attrs: object) -> Node:
    return Node(op, tuple(Node("input", types=(t,)) for t in types), attrs, (types[0],), op)


def test_refusals_name_their_reason():
    mask = node("index", Type("f32", (4,)), Type("bool", (4,)), dims=(0,))
    assert "bool" in can_lower(mask).why
    scalar = node("gather", Type("f32", ()), Type("i64", ()), dim=0)
    assert "0-d" in can_lower(scalar).why
    mean = node("scatter", Type("f32", (4,)), Type("i64", (4,)), Type("f32", (4,)), dim=0, reduce="mean")
    assert "mean" in can_lower(mean).why
