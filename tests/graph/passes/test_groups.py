"""Group norms in the exporters' spelling become one operator."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from graph.tracing import ops, traced

Tensor = torch.Tensor
torch.manual_seed(0)
X = torch.randn(2, 8, 5, 3)
W, B = torch.randn(8, 1, 1), torch.randn(8, 1, 1)


def exported(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    rows = x.reshape(2, 4, -1)
    normal = F.instance_norm(rows, weight=torch.ones(4), bias=torch.zeros(4), eps=1e-6)
    return normal.reshape(x.shape) * w + b


def test_the_whole_chain_is_one_group_norm() -> None:
    (out,) = traced(exported, X, W, B, export=True).outputs
    assert out.op == "group_norm"
    assert (out.attrs["groups"], out.attrs["eps"]) == (4, 1e-6)
    assert out.attrs["has_weight"] and out.attrs["has_bias"]


def test_groups_that_are_no_groups_of_channels_stay() -> None:
    def across(x: Tensor) -> Tensor:
        rows = x.reshape(1, 4, -1)
        return F.instance_norm(rows, eps=1e-6).reshape(x.shape)

    assert "group_norm" in ops(traced(across, X, export=True))
    (out,) = traced(across, X, export=True).outputs
    assert out.op == "reshape"


def test_a_weight_per_row_is_no_weight_of_the_norm() -> None:
    def by_row(x: Tensor, w: Tensor) -> Tensor:
        return F.group_norm(x, 4) * w

    (out,) = traced(by_row, X, torch.randn(5, 1), export=True).outputs
    assert out.op == "mul"


def test_an_instance_norm_takes_its_scale() -> None:
    def scaled(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.instance_norm(x) * w + b

    (out,) = traced(scaled, X, W, B, export=True).outputs
    assert out.op == "group_norm" and len(out.inputs) == 3
