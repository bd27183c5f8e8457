"""A search goes the same way wherever and whenever it goes on, and what it keeps is no slower by its own estimate."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
import torch
from torch import nn

from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.cost.model import guess
from strop.driver import pipeline
from strop.frontend.torch.export import capture
from strop.loops.calls import canonicalise
from strop.loops.passes.blocking import Subtotal
from strop.schedule.scheduler import Scheduler
from strop.schedule.tuned import parsed, tuning_version
from strop.target.description import Target
from strop.tune import search
from strop.tune.search import Candidate, SearchState, SearchTask, TunedNest, search_round

ZEN4 = Target.find("znver4")


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(search, "DRAWS", 12)
    monkeypatch.setattr(search, "ESTIMATED", 4)


def nest_of(module: nn.Module, *shape: int, threads: int = 1) -> TunedNest:
    graph = capture(module.eval(), (torch.randn(shape),)).graph
    stages = pipeline.run_stages(graph, ZEN4, Options(threads=threads, tuned=False), Journal(), threads)
    heaviest = max(stages.plan.steps, key=lambda call: call.source.iterations)
    return TunedNest(canonicalise(heaviest.source)[0], ZEN4, threads, True)


@pytest.fixture(scope="module")
def product():
    return nest_of(nn.Linear(640, 48), 20, 640)


def after(tuned: TunedNest, rounds: int, state: SearchState | None = None) -> SearchState:
    state = state or SearchState()
    for _ in range(rounds):
        state = search_round(SearchTask(tuned, state, tuning_version()))
    return state


def test_a_search_that_goes_on_elsewhere_comes_to_the_same(product):
    once = after(product, 2)
    resumed = SearchState.from_json(after(product, 1).to_json())
    elsewhere = pickle.loads(pickle.dumps(SearchTask(product, resumed, tuning_version())))
    assert search_round(elsewhere) == once
    assert search_round(elsewhere).record(product) == once.record(product)


def test_every_schedule_of_a_search_can_be_made_by_a_compilation(product):
    state = after(product, 2)
    assert state.best and state.rounds == 2
    for one in state.best:
        scheduler = Scheduler(ZEN4, 1, True, {product.key.nest: one.passes})
        assert " ".join(map(str, scheduler.chosen(product.nest).passes)) == one.passes


def test_long_sums_stay_in_subtotals(product):
    """Or a tuned program would be less exact than eager."""
    for one in after(product, 2).best:
        assert any(isinstance(each, Subtotal) for each in parsed(one.passes))


def test_threads_share_the_work_of_every_schedule():
    tuned = nest_of(nn.Linear(256, 512), 128, 256, threads=2)
    for one in after(tuned, 1).best:
        assert "parallelise{" in one.passes


def test_nothing_is_estimated_twice(product):
    first, second = after(product, 1), after(product, 2)
    assert len(second.seen) == second.estimated > first.estimated == len(first.seen)


def test_a_search_says_what_it_tried_and_why_not(product):
    state = after(product, 1)
    assert state.guessed > state.estimated > 0
    assert state.rejected["slower by the guess"] == state.guessed - state.estimated


def test_an_estimate_is_believed_only_if_it_is_clearly_better(product):
    state = SearchState(1, 0, 100.0, (Candidate("split{nest=k loop=m0 by=2}", 96.0),))
    assert state.record(product).passes == "" and state.record(product).ratio == 1.0
    better = replace(state, best=(Candidate("split{nest=k loop=m0 by=2}", 90.0),))
    assert better.record(product).passes == "split{nest=k loop=m0 by=2}" and better.record(product).ratio == 0.9


def test_what_the_model_cannot_tell_is_not_searched(product):
    assert not any("serpentine{" in one.passes for one in after(product, 2).best)


def test_a_nest_in_more_pieces_is_not_called_faster(product):
    """The model takes what one piece has fetched to be there for the others."""
    work = search._Round(product, SearchState(default=1000.0))
    costs = [guess(work.default.nest, ZEN4)]
    few, many = ([replace(costs[0], cycles=10.0, parts=costs[0].parts * n)] for n in (1, 2))
    assert work._believable(few, 1000.0) == 10.0 and work._believable(many, 1000.0) == 1000.0


def test_an_estimate_of_rows_is_not_believed_without_measuring():
    softmax = nest_of(nn.Softmax(-1), 64, 300)
    state = SearchState(1, 0, 100.0, (Candidate("split{nest=k loop=n by=2}", 50.0),))
    assert state.record(softmax).passes == ""


def test_a_search_ends_when_nothing_better_is_found(product):
    assert not SearchState(rounds=2, idle=2).ended
    assert SearchState(rounds=3, idle=search.IDLE_ROUNDS).ended
    assert SearchState(rounds=search.ROUNDS).ended


def test_another_version_of_strop_does_not_search_for_this_one(product):
    with pytest.raises(Problem, match="another version"):
        search_round(SearchTask(product, SearchState(), "another"))


def test_a_nest_with_nothing_to_choose_is_searched_without_a_fault():
    state = after(nest_of(nn.ReLU(), 3), 1)
    assert state.ratio <= 1.0
