"""Gradients of filters are the sums that define them, however images are divided into parts."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
import torch

from loops.interpret import execute
from loops.lower.test_winograd_weight_gradient import gradient_node
from strop.loops.lower import weight_gradients
from strop.loops.lower.weight_gradients import conv_weight_grad


def nests_and_result(node):
    names = []
    x, dy = (torch.randn(one.shape, dtype=torch.float64) for one in node.inputs)

    def lowered(c):
        made = conv_weight_grad(c)
        names.extend((nest.name.rpartition(".")[2], nest.writes[0].shape) for nest in made)
        return made

    (result,) = execute(lowered, node.op, [x, dy], [("f64", node.shape)], node.attrs)
    expected = torch.nn.grad.conv2d_weight(
        x, node.shape, dy, stride=node.attrs["stride"], padding=[before for before, _ in node.attrs["padding"]],
        dilation=node.attrs["dilation"], groups=node.attrs["groups"],
    )  # fmt: skip
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-10, atol=1e-10)
    return names


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(
    "case",
    [
        {"x": (4, 4, 8, 6)},
        {"x": (4, 4, 8, 6), "stride": (2, 2)},
        {"x": (3, 4, 9, 7), "kernel": (4, 4), "stride": (2, 1)},
        {"x": (2, 4, 9, 7), "dilation": (2, 2), "padding": ((2, 2), (2, 2))},
        {"x": (2, 4, 6, 6), "kernel": (1, 1), "padding": ((0, 0), (0, 0))},
    ],
)
@pytest.mark.parametrize("part_bytes", [1 << 8, 1 << 11])
def test_parts_add_up_to_the_gradient(case, groups, part_bytes, monkeypatch):
    monkeypatch.setattr(weight_gradients, "PART_BYTES", part_bytes)
    monkeypatch.setattr(weight_gradients, "SHARE", 0)
    nests_and_result(gradient_node(groups=groups, **case))


def test_images_are_divided_first_and_then_rows_of_one(monkeypatch):
    monkeypatch.setattr(weight_gradients, "SHARE", 0)
    node = gradient_node(x=(4, 4, 8, 6))
    image = 8 * 2 * prod(node.inputs[0].shape[1:])
    for part_bytes, wanted in ((2 * image, (2, 1)), (image, (4, 1)), (image // 4, (4, 4))):
        monkeypatch.setattr(weight_gradients, "PART_BYTES", part_bytes)
        names = nests_and_result(node)
        assert [name for name, _ in names] == ["parts", "conv_weight_grad"]
        assert names[0][1][:2] == wanted


def test_images_that_are_small_beside_the_filters_are_one_part():
    parts, turned = nests_and_result(gradient_node(x=(4, 16, 6, 6), out=16))
    assert parts == ("parts", (1, 1, 3, 3, 16, 16)) and turned == ("conv_weight_grad", (16, 16, 3, 3))


def test_no_images_have_gradients_of_zeros():
    assert len(nests_and_result(gradient_node(x=(0, 16, 6, 6), out=16))) == 1


def test_filters_of_one_tap_lie_as_they_are_summed_up():
    node = gradient_node(x=(4, 16, 6, 6), out=16, kernel=(1, 1), padding=((0, 0), (0, 0)))
    assert len(nests_and_result(node)) == 1


def test_a_prime_number_of_rows_is_not_taken_apart_into_single_ones(monkeypatch):
    monkeypatch.setattr(weight_gradients, "SHARE", 0)
    node = gradient_node(x=(2, 4, 7, 6))
    monkeypatch.setattr(weight_gradients, "PART_BYTES", 8 * 2 * prod(node.inputs[0].shape[1:]) * 4 // 7)
    assert nests_and_result(node)[0][1][:2] == (2, 1)


def test_every_batch_and_size_of_parts_has_a_division(monkeypatch):
    monkeypatch.setattr(weight_gradients, "SHARE", 0)
    for batch in (5, 6, 7):
        node = gradient_node(x=(batch, 2, 5, 5), out=2)
        for part_bytes in range(200, 4000, 400):
            monkeypatch.setattr(weight_gradients, "PART_BYTES", part_bytes)
            nests_and_result(node)
