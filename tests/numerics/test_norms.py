"""Norms: rows, groups and channels of any scale, far from zero or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from torch import Tensor, nn

from numerics.draws import Fill, fills, moderate
from numerics.judge import Judge

#: spans of rows whose squares are in range
SPANS = ((0.0, 0.0), (-4.0, 4.0), (-12.0, 2.0), (2.0, 12.0))


def centred(
    over: Callable[[Tensor], Tensor], back: Callable[[Tensor, Tensor], Tensor], eps: float = 1e-5
) -> Callable[..., Tensor]:
    """(|x| + mean |x|)/σ·|weight| + |bias|, where `over` brings what is normalised together into the last axis."""

    def terms(model: nn.Module, args: Sequence[Any], exact: Tensor) -> Tensor:
        rows = over(args[0].double())
        deviation = (rows.var(-1, unbiased=False, keepdim=True) + eps).sqrt()
        sizes = back((rows.abs() + rows.abs().mean(-1, keepdim=True)) / deviation, args[0])
        weight, bias = (getattr(model, name, None) for name in ("weight", "bias"))
        shape = (1, -1, *(1 for _ in args[0].shape[2:])) if not isinstance(model, nn.LayerNorm) else (-1,)
        if weight is not None:
            sizes = sizes * weight.double().abs().reshape(shape)
        return sizes if bias is None else sizes + bias.double().abs().reshape(shape)

    return terms


def relative(model: nn.Module, args: Sequence[Any], exact: Tensor) -> Tensor:
    return exact.abs()


def of_batch(model: nn.Module, args: Sequence[Any], exact: Tensor) -> Tensor:
    shape = (1, -1, *(1 for _ in args[0].shape[2:]))
    mean, var, weight, bias = (
        getattr(model, name).double().reshape(shape) for name in ("running_mean", "running_var", "weight", "bias")
    )
    return weight.abs() / (var + model.eps).sqrt() * (args[0].double().abs() + mean.abs()) + bias.abs()


def batch_norm() -> nn.Module:
    torch.manual_seed(0)
    made = nn.BatchNorm2d(12)
    made.running_mean = torch.randn(12) * 10 ** torch.linspace(-6, 6, 12)
    made.running_var = 10 ** torch.linspace(-10, 10, 12)
    return made


last = centred(lambda x: x, lambda sizes, x: sizes)
grouped = centred(lambda x: x.reshape(x.shape[0], 4, -1), lambda sizes, x: sizes.reshape(x.shape))
single = centred(lambda x: x.flatten(2), lambda sizes, x: sizes.reshape(x.shape))
NORMS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], Callable[..., Tensor]]] = {
    "layer norm": (lambda: nn.LayerNorm(48), (9, 48), last),
    "layer norm, long": (lambda: nn.LayerNorm(5000), (3, 5000), last),
    "layer norm, 768": (lambda: nn.LayerNorm(768), (64, 768), last),
    "rms norm": (lambda: nn.RMSNorm(64), (9, 64), relative),
    "rms norm, long": (lambda: nn.RMSNorm(4096), (3, 4096), relative),
    "group norm": (lambda: nn.GroupNorm(4, 16), (3, 16, 5, 5), grouped),
    "instance norm": (lambda: nn.InstanceNorm2d(6), (2, 6, 9, 9), single),
    "batch norm": (batch_norm, (3, 12, 4, 5), of_batch),
}  # fmt: skip


@pytest.mark.parametrize("name", NORMS)
@settings(max_examples=6)
@example(x=Fill("constant"), w=Fill(), b=Fill())
@given(x=fills(spans=SPANS), w=moderate(), b=moderate())
def test_norm(judge: Judge, name: str, x: Fill, w: Fill, b: Fill) -> None:
    make, shape, terms = NORMS[name]
    with torch.device("meta"):
        shapes = (
            {key: value.shape for key, value in make().named_parameters()}
            if name != "batch norm"
            else {"weight": (12,), "bias": (12,)}
        )
    drawn = {"weight": w, "bias": b}
    parameters = {key: drawn[key].tensor(size) for key, size in shapes.items()}
    given = x.tensor(shape).clamp(-1e18, 1e18)
    equal = x.constant or x.kind == "sparse"  # where most are zero, most squares of distances are the mean's
    in_a_row = 128 if equal else 4  # equal terms of a sum per lane
    judge.check(name.split(",")[0], name, make, (given,), parameters, terms, count=in_a_row, equal=equal)
