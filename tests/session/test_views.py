"""What a session shows: graphs at every level, bytes by memory, the arena over time, predictions beside measurements."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn

import strop
from strop.core.problem import Problem
from strop.session import Session
from strop.session.views import MEMORY

OPTIONS = strop.Options(cache=False, threads=1, target="znver3@host", numerics="exact")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(8, 32, 3, padding=1), nn.Conv2d(32, 8, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.first(x).relu()).softmax(1)


@pytest.fixture(scope="module")
def session() -> Session:
    torch.manual_seed(0)
    return Session(Net().eval(), (torch.randn(1, 8, 40, 40),), options=OPTIONS)


def test_every_level_is_a_graph_whose_edges_join_its_nodes(session: Session) -> None:
    for level in session.levels:
        view = session.view(level)
        names = {node.name for node in view.nodes}
        assert view.nodes and view.edges == session.edges(level)
        assert all({edge.producer, edge.consumer} <= names for edge in view.edges)
        assert json.loads(json.dumps(view.to_json()))["level"] == level


def test_an_unknown_level_names_the_known_ones(session: Session) -> None:
    with pytest.raises(Problem, match="there is no level `loops`"):
        session.view("loops")  # type: ignore[arg-type]


def test_a_fused_value_stays_in_registers_and_others_come_from_a_cache(session: Session) -> None:
    edges = {(edge.producer, edge.consumer): edge for edge in session.edges("graph")}
    fused = edges["first.conv", "relu"]
    assert (
        fused.fused and fused.comes_from == "registers" and fused.traffic["registers"] == fused.bytes == 4 * 32 * 1600
    )
    apart = edges["relu", "last.conv"]
    assert not apart.fused and apart.comes_from != "registers" and sum(apart.traffic.values()) >= apart.bytes
    assert set(apart.traffic) == set(MEMORY)


def test_a_tensor_that_fits_no_cache_comes_from_memory() -> None:
    class Copies(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.softmax(torch.cumsum(x, 1), 1)

    def farthest(rows: int) -> str:
        session = Session(Copies(), (torch.randn(rows, 1024),), options=OPTIONS)
        return max((edge.comes_from for edge in session.edges()), key=MEMORY.index)

    l2, l3 = session_target().l2, session_target().l3_ours
    assert MEMORY.index(farthest(int(l2 // 16384))) < MEMORY.index("DRAM")
    assert farthest(int(2 * l3 // 4096)) == "DRAM"


def session_target() -> strop.target.description.Target:
    return strop.driver.pipeline.target_for(OPTIONS)


def test_modules_and_lines_are_told_of_nests(session: Session) -> None:
    nodes = {node.name: node for node in session.view("plan").nodes}
    conv = nodes["first.conv"]
    assert conv.module == "first" and conv.computes == ("first.conv", "relu") and conv.cycles
    assert conv.flop == 2 * 9 * 8 * 32 * 1600 and all(origin.file == __file__ for origin in conv.origins)


def test_the_arena_over_time_is_the_plan(session: Session) -> None:
    memory = session.memory()
    assert memory.arena_bytes == session.plan.arena.bytes <= memory.unshared_bytes
    assert len(memory.live) == len(memory.steps) and max(memory.live) <= memory.arena_bytes
    for one in memory.tensors:
        assert 0 <= one.first <= one.last < len(memory.steps) and one.offset + one.bytes <= memory.arena_bytes
    alive = [(a, b) for a in memory.tensors for b in memory.tensors if a is not b and a.first <= b.last <= a.last]
    assert all(a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset for a, b in alive)


def test_predictions_stand_beside_measurements_once_there_are_some() -> None:
    session = Session(Net().eval(), (torch.randn(1, 8, 24, 24),), options=OPTIONS)
    before = session.predicted_vs_measured()
    assert before.measured_us is None and before.predicted_us > 0 and before.median_error is None
    profile = session.measure(3)
    after = session.predicted_vs_measured()
    assert [one.measured_us for one in after.steps] == [row.microseconds for row in profile.rows]
    assert all(one.bound and one.terms for one in after.steps if one.predicted_us is not None)
    session.apply("reset{nest=first.conv}")
    assert session.predicted_vs_measured().measured_us is None
    session.undo()
    assert session.predicted_vs_measured() == after and session.timeline()[0].measured_us == profile.whole


def test_runners_up_say_why_they_lost(session: Session) -> None:
    text = session.runners_up("first.conv")
    assert text.startswith("first.conv: ") and "cycles if alone" in text and "  not " in text
