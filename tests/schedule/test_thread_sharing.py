"""Which nests threads share, and how evenly: sums of few channels, tiles by the number of threads, copies."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import strop
from strop.graph import build
from strop.graph.ir import Graph, Node
from strop.loops.ir import Nest
from strop.loops.lower.graph import lower
from strop.schedule.builder import balance
from strop.schedule.default import schedule
from strop.target.description import TARGETS

TARGETS_OF_BOTH_WIDTHS = ["x86-64-v3", "znver4"]


def scheduled(result: Node, x: Node, target: str, threads: int = 2) -> list[Nest]:
    made = lower(Graph((x,), (), (result,))).nests
    return [schedule(nest, TARGETS[target], threads).nest for nest in made if isinstance(nest, Nest)]


def shares(nest: Nest) -> list[int]:
    """How often each loop runs that threads divide."""
    return [loop.extent for loop in nest.all_loops if loop.mode == "threads"]


@pytest.mark.parametrize("target", TARGETS_OF_BOTH_WIDTHS)
@pytest.mark.parametrize("channels", [4, 16, 24, 192])
@pytest.mark.parametrize("size", [32, 48])
def test_threads_share_a_sum_over_images_by_the_image(size, channels, target):
    """As they share everything else: what one has written is in its own caches."""
    x = build.input(0, "f32", (4, size, size, channels), "x")
    rows, _ = scheduled(build.reduce("sum", x, (0, 1, 2)), x, target)
    divided = [loop for loop in rows.all_loops if loop.mode == "threads"]
    assert divided and divided[0].name in ("r0", "r0.o")
    assert sum(loop.extent // 2 for loop in divided) >= 0.45 * sum(loop.extent for loop in divided)


def test_a_short_sum_stays_one_nest():
    x = build.input(0, "f32", (4, 8, 8, 16), "x")
    (nest,) = scheduled(build.reduce("sum", x, (0, 1, 2)), x, "znver4")
    assert not shares(nest)


def test_the_number_of_threads_does_not_change_a_sum():
    class Sum(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sum((0, 2, 3))

    torch.manual_seed(0)
    x = torch.randn(6, 24, 20, 20)
    alone, both = (strop.Session(Sum(), (x,), threads=threads).module(x) for threads in (1, 2))
    torch.testing.assert_close(alone, both, rtol=1e-6, atol=1e-5)
    torch.testing.assert_close(both.double(), x.double().sum((0, 2, 3)), rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("target", TARGETS_OF_BOTH_WIDTHS)
@pytest.mark.parametrize("channels", [96, 144, 192, 320])
def test_threads_get_tiles_of_channels_that_divide_evenly(channels, target):
    """192 channels are three tiles of 64: one thread would do two of them."""
    x = build.input(0, "f32", (1024, channels), "x")
    (nest,) = scheduled(build.reduce("sum", x, (0,)), x, target)
    assert balance(shares(nest)[0], 2) >= 0.9


def test_one_thread_has_the_tile_that_takes_the_fewest_cycles():
    x = build.input(0, "f32", (1024, 192), "x")
    (alone,), (both,) = (scheduled(build.reduce("sum", x, (0,)), x, "znver4", threads) for threads in (1, 2))
    assert not shares(alone) and balance(shares(both)[0], 2) == 1
    assert max(loop.extent for loop in alone.all_loops if loop.mode == "vector") >= max(
        loop.extent for loop in both.all_loops if loop.mode == "vector"
    )


def test_a_copy_counts_by_its_bytes():
    """24,576 elements are 49,152 operations, and 197 kB that come and go: they take microseconds."""
    x = build.input(0, "f32", (64, 384), "x")
    (copied,) = scheduled(build.neg(build.permute(x, (1, 0))), x, "znver4")
    assert balance(shares(copied)[0], 2) == 1
    small = build.input(0, "f32", (64, 64), "x")
    (kept,) = scheduled(build.neg(build.permute(small, (1, 0))), small, "znver4")
    assert not shares(kept)


@pytest.mark.parametrize("keepdim", [False, True])
def test_variance_and_mean_together_read_the_tensor_twice(keepdim):
    class Moments(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.var_mean(x, (0, 2, 3), correction=0, keepdim=keepdim)

    torch.manual_seed(0)
    x = torch.randn(4, 16, 24, 24) * 3 + 1000
    session = strop.Session(Moments(), (x,), threads=1)
    (given,) = session.plan.inputs
    assert sum(given in call.actual.values() for call in session.plan.steps) == 2
    for got, wanted in zip(session.module(x), torch.var_mean(x.double(), (0, 2, 3), correction=0, keepdim=keepdim)):
        torch.testing.assert_close(got.double(), wanted, rtol=1e-6, atol=0)
