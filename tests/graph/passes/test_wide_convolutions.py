"""Convolutions of small images whose weights are read in parts."""

from __future__ import annotations

import pytest
import torch

from strop.graph import build
from strop.graph.ir import Graph, Handover
from strop.graph.passes.wide_convolutions import in_parts
from strop.graph.verify import verify
from strop.runtime.reference import evaluate


def convolution(*, channels: int = 256, size: int = 3, transposed: bool = False, bias: bool = False, groups: int = 1):
    """One convolution of a small image, and its result a second time."""
    x = build.input(0, "f32", (1, 64, size, size))
    shape = (64, channels, 3, 3) if transposed else (channels, 64 // groups, 3, 3)
    inputs = [x, build.input(1, "f32", shape), *([build.input(2, "f32", (channels,))] if bias else [])]
    found = build.conv(*inputs, padding=1, transposed=transposed, groups=groups)
    twice = build.conv(found, build.input(len(inputs), "f32", (64, channels, 1, 1)))
    return Graph((*inputs, twice.inputs[1]), (), (found, twice), handover=Handover(outputs=((0, 64),)))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_parts_compute_what_the_whole_computes(transposed: bool, bias: bool) -> None:
    whole = convolution(transposed=transposed, bias=bias)
    divided = in_parts(whole, whole.inputs, whole.inputs[1].type.bytes // 4)
    verify(divided, "parts")
    assert [node.shape[1] for node in divided.nodes if node.op == "conv"] == [64, 64, 64, 64, 64]
    given = [torch.randn(node.shape) for node in whole.inputs]
    for mine, theirs in zip(evaluate(divided, given), evaluate(whole, given)):
        torch.testing.assert_close(mine, theirs)


def test_what_reads_them_and_what_half_of_a_step_hands_over_stays() -> None:
    whole = convolution()
    divided = in_parts(whole, whole.inputs, 1 << 10)
    assert divided.handover == whole.handover and divided.inputs == whole.inputs
    assert divided.outputs[1].inputs[0] is divided.outputs[0]


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(convolution(size=32), id="the image is as large"),
        pytest.param(convolution(groups=2), id="channels in groups"),
        pytest.param(convolution(channels=48), id="no parts of whole vectors"),
    ],
)
def test_others_stay_whole(graph: Graph) -> None:
    assert sum(node.op == "conv" for node in in_parts(graph, graph.inputs, 1 << 10).nodes) == 2


def test_weights_that_are_computed_stay_whole() -> None:
    graph = convolution()
    assert sum(node.op == "conv" for node in in_parts(graph, (), 1 << 10).nodes) == 2
