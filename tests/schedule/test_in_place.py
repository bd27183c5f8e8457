"""Depthwise convolutions of images that the caller keeps channels first: read and written where they lie."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from strop.codegen.registers import register_scratch
from strop.codegen.unroll_order import by_place
from strop.core.options import Options
from strop.loops.ir import Nest
from strop.session import Session
from strop.target.description import TARGETS


def session(model, x, target="znver4@host", **options):
    return Session(model.eval(), (x,), options=Options(cache=False, target=target, tuned=False, **options), threads=1)


def depthwise(channels=40, kernel=3, **options):
    torch.manual_seed(0)
    return nn.Conv2d(channels, channels, kernel, padding=kernel // 2, groups=channels, **options)


def nests(found: Session) -> list[str]:
    return [step.name for step in found.nests if isinstance(step, Nest)]


def innermost(nest: Nest) -> list[Nest]:
    inside = [found for item in nest.body if isinstance(item, Nest) for found in innermost(item)]
    return [nest, *inside]


@pytest.mark.parametrize("target", ["x86-64-v3@host", "znver4@host", "x86-64@host", None])
@pytest.mark.parametrize(
    ("channels", "size", "kernel", "batch"),
    [(40, (28, 28), 3, 1), (7, (5, 90), 3, 2), (33, (14, 14), 5, 1), (5, (1, 17), 3, 3), (6, (9, 4), 3, 1), (3, (40, 70), 7, 1)],
)  # fmt: skip
def test_results_are_those_of_eager(channels, size, kernel, batch, target):
    model, x = nn.Sequential(depthwise(channels, kernel), nn.ReLU()), torch.randn(batch, channels, *size)
    with torch.no_grad():
        torch.testing.assert_close(session(model, x, target).module(x), model(x), rtol=1e-5, atol=1e-6)


def test_two_threads_compute_the_same():
    model, x = depthwise(64), torch.randn(1, 64, 56, 56)
    with torch.no_grad():
        found = Session(model.eval(), (x,), options=Options(cache=False), threads=2)
        torch.testing.assert_close(found.module(x), model(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", ["x86-64-v3@host", "znver4@host", "sapphirerapids@host"])
def test_an_image_is_not_turned_for_a_window_over_each_channel(target):
    found = session(depthwise(192), torch.randn(1, 192, 28, 28), target)
    assert nests(found) == ["conv"]
    assert "oc in 192" in str(found.nests["conv"]) and "(vector) ow" in str(found.nests["conv"])


@pytest.mark.parametrize(
    "model",
    [
        nn.Conv2d(32, 32, 3, padding=1),
        depthwise(32, stride=2),
        nn.Sequential(depthwise(32), nn.Conv2d(32, 64, 1)),
    ],
    ids=["dense", "strided", "followed"],
)
def test_other_convolutions_get_an_image_laid_out_for_them(model):
    found = session(model, torch.randn(1, 32, 28, 28))
    assert any(name.endswith(".copy") for name in nests(found))


def test_a_layout_that_is_asked_for_is_kept():
    found = session(depthwise(192), torch.randn(1, 192, 28, 28), layouts="channels_last")
    assert any(name.endswith(".copy") for name in nests(found))


def test_every_line_is_read_once_per_column_of_the_window_and_used_for_all_of_its_rows():
    nest = session(depthwise(192), torch.randn(1, 192, 28, 28)).nests["conv"]
    orders = [by_place(one, register_scratch(nest), TARGETS["znver4"].lanes("f32")) for one in innermost(nest)]
    found = [order for order in orders if order is not None]
    assert found
    for _, vector, order in found:
        assert vector.name.startswith("ow")
        row, kh, kw = ({var.name: var for var in order[0]}[name] for name in ("oh.i", "kh", "kw"))
        read = [(at[kw], at[row] + at[kh]) for at in order]
        assert read == sorted(read)
        assert len(order) == 9 * (max(at[row] for at in order) + 1) * len({at[vector.var] for at in order})
