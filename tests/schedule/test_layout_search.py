"""Layouts chosen together: never dearer than any fixed choice by the model's own prices, and always the same results."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from torch import nn

from strop.core.options import Layouts, Options
from strop.core.problem import Problem
from strop.loops.ir import Nest
from strop.schedule import layout_search
from strop.schedule.layouts import channel_dims, pads, with_borders
from strop.session import Session


class Branches(nn.Module):
    """Convolutions of several kinds with a residual, a concatenation and a pooling between them."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, 2, 1)
        self.deep = nn.Conv2d(32, 32, 3, 1, 1, groups=32)
        self.wide = nn.Conv2d(32, 64, 1)
        self.back = nn.Conv2d(64, 32, 1)
        self.last = nn.Conv2d(64, 48, 3, 1, 1)

    def forward(self, x):
        x = self.stem(x).relu()
        y = self.back(self.wide(self.deep(x).relu())) + x
        z = torch.cat([y, nn.functional.max_pool2d(x, 3, 1, 1)], 1)
        return self.last(z).mean((2, 3))


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return Branches().eval(), torch.randn(1, 3, 18, 22)


@pytest.mark.parametrize("target", ["znver3", None])
@pytest.mark.parametrize("policy", get_args(Layouts))
def test_every_way_to_lie_computes_the_same(network, policy, target):
    model, x = network
    options = Options(cache=False, layouts=policy, target=target, check=True)
    with torch.no_grad():
        session = Session(model, (x,), options=options)
        torch.testing.assert_close(session.module(x), model(x), rtol=1e-4, atol=1e-5)


def priced(network, policy, price):
    """How each tensor is kept under a policy by some prices, and what the program costs by these."""
    model, x = network
    with torch.no_grad():
        lowered = Session(model, (x,), options=Options(cache=False, target="znver3")).lowered
    program, _, own = with_borders(lowered)
    work = layout_search._LayoutSearch(program.nests, own, pads(program.nests), 8, price)
    states = work.states(policy)
    total = sum(work.copying(b, s.written, s.copied) for b, s in states.items() if s.copied is not None)
    for _, nest, sides in work.nests:
        kept = {b: states[b] for b in sides.touched}
        total += min(cost for pair, cost in work.prices(nest, sides).items() if sides.allows(*pair, kept))
    return states, total


def liking_blocks(nest: Nest) -> float:
    """Depthwise and pointwise nests would like blocks, others don't."""
    ranks = [len(b.shape) for b in (*nest.reads, *nest.writes) if b.space == "arena"]
    share = sum(rank == 5 for rank in ranks) / max(len(ranks), 1)
    return 100.0 * (1.5 - share if "deep" in nest.name or nest.name.endswith(".copy") else 1.0 + 0.1 * share)


@pytest.mark.parametrize("other", ["channels_last", "apart"])
def test_together_is_never_dearer(network, other):
    assert priced(network, "joint", liking_blocks)[1] <= priced(network, other, liking_blocks)[1]


def test_a_nest_alone_does_not_get_what_its_neighbours_would_pay_for(network):
    chosen, _ = priced(network, "joint", lambda nest: 100.0)
    assert {state.written for state in chosen.values()} == {layout_search.LAST}


def test_unknown_ways_are_refused():
    with pytest.raises(Problem, match="layouts must be one of joint, channels_last, blocked, apart"):
        Options(layouts="sideways")


class RowsAsImages(nn.Module):
    """A layer norm over channels, whose result a depthwise convolution reads through a transposed view."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 4, 4)
        self.norm, self.deep, self.last = nn.LayerNorm(32), nn.Conv2d(32, 32, 7, 1, 3, groups=32), nn.LayerNorm(32)

    def forward(self, x):
        x = self.norm(self.stem(x).permute(0, 2, 3, 1))
        return x + self.last(self.deep(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1))


def test_channels_are_found_where_they_are():
    torch.manual_seed(0)
    model, x = RowsAsImages().eval(), torch.randn(1, 3, 40, 48)
    with torch.no_grad():
        session = Session(model, (x,), options=Options(cache=False, check=True), threads=1)
        torch.testing.assert_close(session.module(x), model(x), rtol=1e-4, atol=1e-5)
    stored = {b.name: b.shape for nest in session.nests for b in nest.writes}
    assert stored["norm.layer_norm"] == (1, 16, 18, 32)
    assert stored["deep.conv"] == (1, 10, 12, 32)


def test_channels_of_groups_are_no_windows():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv1d(8, 32, 3, padding=1), nn.ReLU(), nn.Conv1d(32, 32, 1, groups=2)).eval()
    session = Session(model, (torch.randn(1, 8, 20),), options=Options(cache=False), threads=1)
    assert channel_dims(list(session.lowered.nests)) == {}


class Fire(nn.Module):
    """Two convolutions that write one tensor, of which Winograd's can only write channels last."""

    def __init__(self) -> None:
        super().__init__()
        self.squeeze, self.one, self.three = nn.Conv2d(3, 32, 1), nn.Conv2d(32, 32, 1), nn.Conv2d(32, 32, 3, padding=1)
        self.last = nn.Conv2d(64, 8, 1)

    def forward(self, x):
        x = self.squeeze(x).relu()
        return self.last(torch.cat([self.one(x), self.three(x)], 1).relu())


def test_apart_results_side_by_side_lie_as_the_pickiest_writer_must():
    torch.manual_seed(0)
    network = Fire().eval(), torch.randn(1, 3, 24, 24)
    chosen, _ = priced(network, "apart", lambda nest: 100.0 / sum(len(b.shape) for b in nest.writes))
    assert {b.name: state.written for b, state in chosen.items()}["cat"] == layout_search.LAST
