"""Whole networks drawn at random train like eager's, for three steps: losses, gradients, buffers and parameters."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

import strop
from runtime.drawn_networks import KINDS
from strop.core.journal import Journal
from strop.core.options import Options
from strop.runtime.dynamo import Backend
from strop.runtime.trainer import allowing_recurrence

#: of a tensor's scale; gradients may cancel to nothing, so that their scale is a share of the largest one's at least
TOLERANCES = {torch.float64: 1e-8, torch.float32: 2e-4}
LEAST_SCALE = 3e-2


def train(seed: int, kind: str) -> None:
    draw = random.Random(seed)
    torch.manual_seed(seed)
    dtype = draw.choice([torch.float64, torch.float64, torch.float32])
    drawn = KINDS[kind](draw, dtype is torch.float64)
    model = drawn.model.to(dtype)
    if kind == "images" and draw.random() < 0.3:
        model = model.to(memory_format=torch.channels_last)
    if draw.random() < 0.25:
        for parameter in list(model.parameters())[1:]:
            parameter.requires_grad_(draw.random() < 0.6)
    twin = copy.deepcopy(model)
    torch._dynamo.reset()
    options = Options(memory=draw.choice(["fastest", "balanced", 100_000]))  # bytes that each of them can keep to
    fast = torch.compile(model, backend=Backend(options, Journal()))
    adaptive = dtype is torch.float64  # gradients of nothing but rounding are as large as others to it
    updates = [torch.optim.AdamW(each.parameters(), lr=0.01) if adaptive else
               torch.optim.SGD(each.parameters(), lr=0.01, momentum=0.9) for each in (model, twin)]  # fmt: skip
    if draw.random() < 0.5 and not adaptive:
        updates[0] = strop.fuse_optimizer(updates[0])
    clips, wants_inputs, twice = (draw.random() < 0.4 for _ in range(3))
    for step in range(3):
        batch = drawn.batch(drawn.rows if step < 2 else drawn.rows + 1)
        batch = tuple(x.to(dtype) if x.is_floating_point() else x for x in batch)
        results = []
        for run, own in ((fast, model), (twin, twin)):
            torch.manual_seed(step)
            inputs = tuple(x.clone().requires_grad_(wants_inputs and x.is_floating_point()) for x in batch)
            for _ in range(1 + twice):
                with allowing_recurrence():
                    loss = loss_of(run(*inputs))
                loss.backward()
            gradients = [p.grad for p in own.parameters()] + [x.grad for x in inputs]
            results.append(([loss.detach(), *own.buffers()], gradients))
        told = f"seed {seed}, {kind}, step {step}"
        compare(results[0][0], results[1][0], TOLERANCES[dtype], 0.0, told)
        largest = max(g.abs().max().item() for g in results[1][1] if g is not None)
        compare(results[0][1], results[1][1], TOLERANCES[dtype], LEAST_SCALE * largest, told)
        for update, own in zip(updates, (model, twin)):
            if clips:
                nn.utils.clip_grad_norm_(own.parameters(), 0.5)
            update.step()
            update.zero_grad()
    if adaptive:
        compare(list(model.parameters()), list(twin.parameters()), 1e-6, 1e-3, f"seed {seed}, {kind}")


def loss_of(result: Any) -> Tensor:
    loss = torch.zeros(())
    for value in pytree.tree_leaves(result):
        weights = torch.linspace(-1, 1, value.numel(), dtype=value.dtype).reshape(value.shape)
        loss = loss + value.square().mean() + (value * weights).mean()
    return loss


def compare(found: list[Any], wanted: list[Any], tolerance: float, least: float, told: str) -> None:
    for mine, theirs in zip(found, wanted):
        assert (mine is None) == (theirs is None), told
        if mine is not None and theirs.numel():
            scale = max(theirs.abs().max().item(), least) or 1.0
            assert mine.shape == theirs.shape and mine.dtype == theirs.dtype, told
            assert (mine - theirs).abs().max().item() <= tolerance * scale, told


@pytest.mark.filterwarnings("ignore::strop.core.journal.StropWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(1))
def test_drawn_networks_train_like_eager(seed: int, kind: str) -> None:
    train(seed, kind)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::strop.core.journal.StropWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(1, 60))
def test_many_drawn_networks_train_like_eager(seed: int, kind: str) -> None:
    train(seed, kind)
