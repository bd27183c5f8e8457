"""Transposed convolutions that are something plainer: at stride 1, and of a single pixel."""

from __future__ import annotations

import pytest
import torch

from graph.evaluating import graph_of, ops, tensor, weight
from strop.graph import build
from strop.graph.passes.simplify import simplify
from strop.runtime.reference import evaluate


def _transposed(graph):
    return [node for node in graph.nodes if node.op == "conv" and node.attrs["transposed"]]


@pytest.mark.parametrize(
    ("space", "taps", "attrs"),
    [
        ((9,), (4,), {"padding": 1}),
        ((7, 8), (3, 2), {"padding": ((1, 1), (0, 0)), "groups": 2}),
        ((6, 5), (3, 3), {"dilation": (2, 1), "padding": 2}),
        ((4, 5, 3), (2, 3, 1), {}),
    ],
)
def test_at_stride_one_it_becomes_plain(space, taps, attrs):
    groups = attrs.get("groups", 1)
    x, w = tensor(2, 4, *space), weight(4, 6 // groups, *taps)
    graph = graph_of(build.conv(x, w, weight(6, key="b"), transposed=True, **attrs))
    made = simplify(graph)
    assert "conv" in ops(made) and not _transposed(made)
    values = [torch.randn(x.shape)], [torch.randn(p.shape) for p in graph.params]
    (expected,), _ = evaluate(graph, *values)
    (got,), _ = evaluate(made, *values)
    assert torch.allclose(got, expected, atol=1e-4)


@pytest.mark.parametrize("space", [(1,), (1, 1)])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("stride", [1, 2])
def test_of_one_pixel_it_becomes_a_linear_layer(space, biased, stride):
    x, w = tensor(3, 5, *space), weight(5, 4, *(3 for _ in space))
    bias = weight(4, key="b") if biased else None
    graph = graph_of(build.conv(x, w, bias, transposed=True, stride=stride))
    made = simplify(graph)
    assert "linear" in ops(made) and "conv" not in ops(made)
    values = [torch.randn(x.shape)], [torch.randn(p.shape) for p in graph.params]
    (expected,), _ = evaluate(graph, *values)
    (got,), _ = evaluate(made, *values)
    assert torch.allclose(got, expected, atol=1e-4)


@pytest.mark.parametrize("attrs", [{"stride": 2}, {"padding": 3}])
def test_with_a_stride_or_cut_off_it_stays(attrs):
    assert _transposed(simplify(graph_of(build.conv(tensor(1, 4, 12), weight(4, 4, 3), transposed=True, **attrs))))
