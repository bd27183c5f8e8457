"""Filters of one channel become products of overlapping rows with a banded matrix."""

from __future__ import annotations

import pytest
import torch

from graph.evaluating import graph_of, ops, tensor, weight
from strop.graph import build
from strop.graph.passes.simplify import simplify
from strop.runtime.reference import evaluate


@pytest.mark.parametrize(("extent", "taps", "stride", "padding"), [(800, 41, 3, (19, 22)), (300, 9, 1, (0, 0))])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("space", [(), (1,), (3,)])
def test_a_filter_becomes_a_product(extent, taps, stride, padding, biased, space):
    x, w = tensor(2, 1, *space, extent), weight(1, 1, *(1 for _ in space), taps)
    bias = weight(1, key="b") if biased else None
    rank = len(space) + 1
    strides, paddings = (1,) * (rank - 1) + (stride,), ((0, 0),) * (rank - 1) + (padding,)
    graph = graph_of(build.conv(x, w, bias, stride=strides, padding=paddings))
    made = simplify(graph)
    assert "linear" in ops(made) and "conv" not in ops(made)
    values = [torch.randn(x.shape)], [torch.randn(p.shape) for p in graph.params]
    (expected,), _ = evaluate(graph, *values)
    (got,), _ = evaluate(made, *values)
    assert torch.allclose(got, expected, atol=1e-4)


def test_short_and_thin_ones_stay():
    short = graph_of(build.conv(tensor(1, 1, 40), weight(1, 1, 9)))
    thin = graph_of(build.conv(tensor(1, 1, 90000), weight(1, 1, 9), stride=100))
    assert "conv" in ops(simplify(short)) and "conv" in ops(simplify(thin))
