"""Gradients of filters by Winograd's algorithm equal the sums that define them."""

import numpy as np
import pytest
import torch

from loops.interpret import execute
from strop.graph.ir import Node, Type
from strop.loops.lower.winograd_weight_gradient import tiles_of, winograd_gradient, winograd_gradient_applies


def gradient_node(x=(2, 4, 9, 9), out=4, kernel=(3, 3), dtype="f32", **attrs):
    attrs = {"stride": (1, 1), "dilation": (1, 1), "padding": ((1, 1), (1, 1)), "groups": 1, **attrs}
    space = [
        (size + sum(pad) - dilation * (taps - 1) - 1) // stride + 1
        for size, pad, dilation, taps, stride in zip(
            x[2:], attrs["padding"], attrs["dilation"], kernel, attrs["stride"]
        )
    ]
    inputs = [
        Node("input", (), {}, (Type(dtype, shape),), name) for name, shape in (("x", x), ("dy", (x[0], out, *space)))
    ]
    shape = (out, x[1] // attrs["groups"], *kernel)
    return Node("conv_weight_grad", tuple(inputs), {"kernel": kernel, **attrs}, (Type(dtype, shape),), "dw")


@pytest.mark.parametrize(
    ("case", "strip", "blocks"),
    [
        ({}, (2, 5), (4, 4)),
        ({}, (2, 5), (2, 1)),
        ({}, (1, 1), (4, 4)),
        ({}, (1, 5), (4, 2)),
        ({"x": (4, 3, 8, 5)}, (2, 4), (4, 3)),
        ({"kernel": (2, 3), "padding": ((0, 0), (1, 1))}, (2, 3), (4, 4)),
        ({"x": (1, 4, 10, 12), "dilation": (2, 3), "padding": ((2, 2), (0, 0))}, (1, 6), (2, 4)),
        ({"x": (2, 6, 7, 7), "out": 4, "groups": 2}, (2, 4), (2, 3)),
        ({"x": (2, 6, 7, 7), "out": 4, "groups": 2}, (1, 2), (1, 3)),
    ],
)
def test_equals_the_direct_sums(case, strip, blocks):
    node = gradient_node(**case)
    x, dy = (torch.randn(one.shape, dtype=torch.float64) for one in node.inputs)
    attrs = node.attrs
    expected = torch.nn.grad.conv2d_weight(
        x, node.shape, dy, padding=[p for p, _ in attrs["padding"]], dilation=attrs["dilation"], groups=attrs["groups"]
    )

    def lowered(c):
        return winograd_gradient(c, *strip, *blocks)

    (result,) = execute(lowered, node.op, [x, dy], [("f64", node.shape)], attrs)
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-10, atol=1e-10)


def test_one_strip_transforms_all_tiles_before_it_multiplies_blocks_of_channels():
    names = []
    execute(
        lambda c: [names.append(nest.name) or nest for nest in winograd_gradient(c, 2, 5, 2, 2)],
        "conv_weight_grad",
        [torch.randn(one.shape) for one in gradient_node().inputs],
        [("f32", (4, 4, 3, 3))],
        gradient_node().attrs,
    )
    assert [name.split(".")[-1] for name in names[:2]] == ["x", "dy"] and len(names) == 3


def test_tiles_are_counted_with_those_that_hang_over():
    assert tiles_of(gradient_node(x=(2, 4, 9, 8))) == (2, 5, 4)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({"stride": (2, 1)}, "2 to 3 taps at stride 1"),
        ({"kernel": (5, 5)}, "2 to 3 taps at stride 1"),
        ({"kernel": (1, 3)}, "2 to 3 taps at stride 1"),
        ({"dtype": "i64"}, "f32 and f64"),
        ({"x": (0, 4, 9, 8)}, "without images"),
        (
            {"x": (1, 2, 9), "kernel": (3,), "padding": ((1, 1),), "stride": (1,), "dilation": (1,)},
            "2 dimensions of space",
        ),
    ],
)
def test_what_it_does_not_compute_is_refused_with_a_reason(case, reason):
    refused = winograd_gradient_applies(gradient_node(**case))
    assert not refused and reason in str(refused)
