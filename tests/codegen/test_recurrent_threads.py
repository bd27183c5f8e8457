"""Walks through time whose steps are divided among threads."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from codegen.machines import runnable
from strop.core.options import Options
from strop.loops.passes.loop_modes import Parallelise
from strop.session import Session


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("target", ["znver3", "znver4"])
def test_two_threads_take_every_step_together(target, kind, both_ways, batch, two_threads):
    torch.manual_seed(0)
    layer = kind(7, 200, bidirectional=both_ways).eval()
    x = torch.randn(5, batch, 7)
    session = Session(layer, (x,), options=Options(cache=False, target=runnable(target)), threads=2)
    assert "(threads)" in str(session.nests)
    with torch.no_grad():
        (got, _), (wanted, _) = session.module(x), layer(x)
    torch.testing.assert_close(got, wanted, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("target", ["znver3", "znver4"])
def test_one_thread_walks_one_direction_after_the_other(target, kind, compact):
    torch.manual_seed(0)
    layer = kind(7, 200, 2, bidirectional=True).eval()
    x = torch.randn(5, 1, 7)
    with torch.no_grad():
        options = Options(cache=False, compact=compact, target=runnable(target))
        session = Session(layer, (x,), options=options, threads=1)
        (got, _), (wanted, _) = session.module(x), layer(x)
    assert {f"{kind.__name__.lower()}.{part}" for part in ("0", "0r", "1", "1r")} <= {n.name for n in session.nests}
    torch.testing.assert_close(got, wanted, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("target", ["znver3", "znver4"])
def test_short_steps_stay_on_one_thread(target, two_threads):
    options = Options(cache=False, target=runnable(target))
    session = Session(nn.LSTM(4, 16).eval(), (torch.randn(6, 1, 4),), options=options, threads=2)
    assert "(threads)" not in str(session.nests)


def test_the_walk_itself_is_never_divided():
    session = Session(nn.LSTM(4, 16).eval(), (torch.randn(6, 1, 4),), options=Options(cache=False), threads=1)
    verdict = Parallelise("lstm.0", "t").check(session.nests["lstm.0"])
    assert not verdict and "outermost loop" in verdict.why
