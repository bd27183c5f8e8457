"""Batch norms, biases and scales move into the weights before them."""

from __future__ import annotations

import pytest
import torch

from graph.evaluating import graph_of, ops, refusals, rewritten, simplified, tensor, weight
from strop.core.journal import Journal
from strop.graph import build
from strop.graph.ir import Graph, Node
from strop.graph.parametric import depends_only_on_params
from strop.graph.passes.parameters import rules
from strop.runtime.reference import evaluate


def _norm(x: Node, **options: float) -> Node:
    n = x.shape[1]
    return build.batch_norm(
        x, weight(n, key="mean"), weight(n, key="var"), weight(n, key="gamma"), weight(n, key="beta"), **options
    )


def _called(graph: Graph) -> list[str]:
    """What is left to do in a call, when all that depends on params alone is done ahead."""
    ahead = depends_only_on_params(graph)
    return [n.op for n in graph.nodes if n not in ahead and n.op != "input"]


x = tensor(2, 6, 5, 5)


@pytest.mark.parametrize(
    "conv",
    [
        build.conv(x, weight(8, 6, 3, 3), padding=1),
        build.conv(x, weight(8, 6, 3, 3), weight(8, key="b"), stride=2),
        build.conv(x, weight(6, 1, 3, 3), groups=6),
        build.conv(x, weight(8, 3, 1, 1), weight(8, key="b"), groups=2),
        build.conv(x, weight(6, 4, 3, 3), weight(4, key="b"), transposed=True, stride=2),
        build.conv(x, weight(6, 4, 3, 3), transposed=True, groups=3),
        build.conv(tensor(2, 6, 9), weight(4, 6, 3)),
        build.conv(tensor(2, 6, 4, 4, 4), weight(4, 6, 2, 2, 2)),
        build.linear(tensor(2, 6), weight(8, 6)),
        build.linear(tensor(2, 6), weight(8, 6), weight(8, key="b")),
    ],
)
def test_a_batch_norm_folds_into_the_weights_before_it(conv: Node) -> None:
    assert _called(rewritten(rules, _norm(conv, eps=1e-3))) == [conv.op]


def test_a_batch_norm_without_scale_and_shift_folds_too() -> None:
    conv = build.conv(x, weight(8, 6, 1, 1))
    assert _called(rewritten(rules, build.batch_norm(conv, weight(8, key="m"), weight(8, key="v")))) == ["conv"]


def test_folded_weights_follow_the_parameters() -> None:
    before = graph_of(_norm(build.conv(x, weight(8, 6, 1, 1))))
    after = rewritten(rules, *before.outputs)
    image = torch.randn(2, 6, 5, 5)
    for seed in (1, 2):
        torch.manual_seed(seed)
        params = {n.attrs["key"]: torch.rand(n.shape) + 0.5 for n in before.params}
        torch.testing.assert_close(evaluate(after, [image], params)[0], evaluate(before, [image], params)[0])


def test_a_convolution_that_others_read_keeps_its_weights() -> None:
    conv = build.conv(x, weight(8, 6, 1, 1))
    journal = Journal()
    after = rewritten(rules, _norm(conv), conv, journal=journal)
    assert _called(after) == ["conv", "mul", "add"]
    assert "(`conv`) is returned" in refusals(journal)


def test_statistics_that_depend_on_an_input_stay() -> None:
    conv = build.conv(x, weight(8, 6, 1, 1))
    journal = Journal()
    node = build.batch_norm(conv, tensor(8, index=1), build.exp(tensor(8, index=2)))
    assert _called(rewritten(rules, node, journal=journal)) == ["conv", "exp", "batch_norm"]
    assert "depends on an input" in refusals(journal)


def test_a_batch_norm_alone_is_scale_and_shift() -> None:
    assert _called(rewritten(rules, _norm(x))) == ["mul", "add"]


def test_a_linear_with_rows_and_a_norm_over_another_dimension_stay_apart() -> None:
    journal = Journal()
    after = rewritten(rules, _norm(build.linear(tensor(2, 6, 4), weight(5, 4))), journal=journal)
    assert _called(after) == ["linear", "mul", "add"]
    assert "channels are dimension 1" in refusals(journal)


def test_biases_and_scales_join_the_contraction() -> None:
    conv = build.conv(x, weight(8, 6, 1, 1))
    assert _called(rewritten(rules, build.add(conv, weight(8, 1, 1, key="b")))) == ["conv"]
    assert _called(
        rewritten(rules, build.add(build.mul(weight(1, 8, 1, 1, key="s"), conv), weight(8, 1, 1, key="b")))
    ) == ["conv"]
    linear = build.linear(tensor(2, 3, 6), weight(5, 6), weight(5, key="b"))
    assert _called(rewritten(rules, build.add(linear, weight(5, key="c")))) == ["linear"]
    assert _called(rewritten(rules, build.mul(linear, weight(1, 5, key="s")))) == ["linear"]


@pytest.mark.parametrize(
    "node",
    [
        build.add(build.conv(x, weight(5, 6, 1, 1)), weight(5, key="b")),  # along the width, not the channels
        build.add(build.conv(x, weight(8, 6, 1, 1)), tensor(8, 1, 1, index=1)),  # an input
        build.add(build.linear(tensor(2, 3, 6), weight(5, 6)), weight(3, 1, key="b")),
        build.mul(build.linear(tensor(2, 3, 6), weight(5, 6)), 0.5),  # a number stays in the epilogue
    ],
)
def test_what_is_not_per_channel_stays(node: Node) -> None:
    assert rewritten(rules, node).outputs == (node,)


def test_a_product_with_a_parameter_is_a_linear() -> None:
    w = weight(6, 5)
    out = rewritten(rules, build.add(build.matmul(tensor(2, 3, 6), w), weight(5, key="b")))
    assert _called(out) == ["linear"]
    out = simplified(build.matmul(tensor(2, 3, 6), build.permute(weight(5, 6), (1, 0))))
    assert ops(out) == ["linear"]
    both = build.matmul(tensor(2, 3, 6), tensor(6, 5, index=1))
    assert rewritten(rules, both).outputs == (both,)


def _pad(pads: tuple[tuple[int, int], ...], mode: str = "constant", value: float = 0.0) -> Node:
    return build.make("pad", (x,), {"pads": pads, "mode": mode, "value": value})


def test_zero_padding_joins_the_convolution() -> None:
    padded = _pad(((0, 0), (0, 0), (0, 1), (2, 0)))
    out = rewritten(rules, build.conv(padded, weight(8, 6, 3, 3), padding=1))
    assert ops(out) == ["conv"]
    assert out.outputs[0].attrs["padding"] == ((1, 2), (3, 1))


@pytest.mark.parametrize(
    "pad, why",
    [
        (_pad(((0, 0), (0, 0), (1, 1), (1, 1)), "reflect"), "reflect"),
        (_pad(((0, 0), (0, 0), (1, 1), (1, 1)), value=1.0), "constant of 1.0"),
        (_pad(((0, 0), (1, 1), (1, 1), (1, 1))), "channels are padded"),
        (_pad(((0, 0), (0, 0), (-1, 1), (1, 1))), "crops"),
    ],
)
def test_other_padding_stays_and_says_why(pad: Node, why: str) -> None:
    journal = Journal()
    after = rewritten(rules, build.conv(pad, weight(8, pad.shape[1], 3, 3)), journal=journal)
    assert ops(after) == ["pad", "conv"]
    assert why in refusals(journal)


def test_params_that_the_program_writes_are_not_known_ahead() -> None:
    w, a = weight(3), tensor(3)
    doubled = build.mul(w, 2.0)
    out = build.add(a, doubled)
    assert doubled in depends_only_on_params(Graph((a,), (w,), (out,)))
    assert doubled not in depends_only_on_params(Graph((a,), (w,), (out,), ((w, doubled),)))
