"""A session shows what the pipeline made, whether it ran now or came from the cache."""

import json
from dataclasses import replace

import pytest
import torch
from torch import nn

import strop
from strop.core.journal import Journal
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.loops.ir import Nest
from strop.loops.lowered import LibraryCall


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(24, 32)
        self.second = nn.Linear(32, 8)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Sorting(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 40)

    def forward(self, x):
        return torch.sort(self.first(x)).values * 2


class Counting(nn.Module):
    """Writes to a buffer at every call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count.add_(1)
        return x * self.count


@pytest.fixture(scope="module")
def session():
    torch.manual_seed(0)
    return strop.Session(Net().eval(), (torch.randn(4, 24),), threads=1)


def test_the_module_is_what_compile_returns(session):
    x = torch.randn(4, 24)
    with torch.no_grad():
        torch.testing.assert_close(session.module(x), session.original(x))


def test_nests_are_found_by_name_and_position_and_print_under_the_names_of_the_model(session):
    assert session.nests.names == ["first.linear", "second.linear"]
    first = session.nests[0]
    assert isinstance(first, Nest) and session.nests[first.name] is first
    text = str(session.nests)
    assert "first.weight" in text and "second.linear" in text and "test_session.py:" in text
    assert "MFLOP" in text and "# vectorise{" in text
    assert str(session.nests[:1]) in text and len(session.nests[:1]) == 1


def test_packing_is_shown_apart_from_what_every_call_runs(session):
    assert session.preparation and "first.weight" in str(session.preparation)


def test_an_unknown_nest_names_the_known_ones(session):
    with pytest.raises(Problem) as caught:
        session.nests["conv7"]
    assert caught.value.code == "STR304" and session.nests.names[0] in caught.value.help
    with pytest.raises(Problem, match="conv7"):
        session.assembly("conv7")


def test_the_stages_are_there(session):
    assert any(node.op == "linear" for node in session.graph.nodes)
    assert len(session.lowered.nests) >= 2
    assert session.plan.threads == 1


def test_assembly_is_that_of_one_nest(session):
    for name in session.nests.names:
        text = session.assembly(name)
        assert "nest0:" in text and "nest1:" not in text
    assert session.assembly(0) == session.assembly(session.nests[0])


def test_the_summary_is_plain_data(session):
    summary = session.summary()
    assert summary["nests"] == len(session.nests) and summary["library_nodes"] == {} and summary["threads"] == 1
    assert summary["packed_bytes"] >= 4 * (24 * 32 + 32 * 8) and summary["code_bytes"] > 0
    assert not summary["cache_hit"]
    assert {"capture", "simplify", "lower", "fuse", "schedule", "place", "emit", "compile", "bind"} <= set(
        summary["step_seconds"]
    )
    assert sum(summary["step_seconds"].values()) <= summary["compile_seconds"]
    assert json.loads(json.dumps(summary)) == summary


def test_a_program_from_the_cache_shows_the_same_insides(session):
    again = strop.Session(Net().eval(), (torch.randn(4, 24),), threads=1)
    assert again.cache_hit and "schedule" not in again.summary()["step_seconds"]
    assert str(again.nests) == str(session.nests)
    assert "fuse" in again.explain()
    assert again.summary()["nests"] == session.summary()["nests"]


def test_a_profile_covers_every_step_in_order(session):
    profile = session.profile(rounds=5)
    assert [row.name for row in profile.rows] == session.nests.names
    assert sum(row.share for row in profile.rows) == pytest.approx(1.0)
    assert sum(row.flop for row in profile.rows) == 2 * 4 * (24 * 32 + 32 * 8)
    linear = profile.rows[-1]
    assert linear.bytes_written == 4 * 8 * 4 and linear.bytes_read >= 4 * 4 * 32
    assert profile.whole > 0 and all(row.microseconds >= 0 for row in profile.rows)
    assert profile.slowest[0].microseconds == max(row.microseconds for row in profile.rows)
    assert json.dumps(profile.to_json())


def test_a_profile_needs_a_round(session):
    with pytest.raises(Problem) as caught:
        session.profile(0)
    assert caught.value.code == "STR001"


def test_library_calls_are_named_counted_and_timed():
    session = strop.Session(Sorting().eval(), (torch.randn(3, 16),), threads=1)
    (target,) = session.summary()["library_nodes"]
    assert "sort" in target
    call = next(step for step in session.nests if isinstance(step, LibraryCall))
    assert "library:" in str(session.nests)
    row = next(row for row in session.profile(3).rows if row.name == call.name)
    assert "library: " in row.what and row.microseconds > 0
    with pytest.raises(Problem, match="its code is torch's"):
        session.assembly(call.name)


def test_a_profile_leaves_buffers_alone():
    model = Counting().eval()
    session = strop.Session(model, (torch.randn(5),), threads=1)
    session.profile(3)
    assert model.count == 0
    with torch.no_grad():
        session.module(torch.ones(5))
    assert model.count == 1


def test_keyword_arguments_and_two_threads():
    class Scaled(nn.Module):
        def forward(self, x, *, by):
            return (x @ x) * by

    session = strop.Session(Scaled(), (torch.randn(64, 64),), {"by": torch.ones(64)}, threads=2)
    assert session.summary()["threads"] in (1, 2)  # 1 where no OpenMP runtime is loaded
    assert session.profile(3).rows


def test_a_model_that_computes_nothing_has_nothing_to_show():
    session = strop.Session(nn.Identity(), (torch.ones(3),))
    assert torch.equal(session.module(torch.full((3,), 2.0)), torch.full((3,), 2.0))
    with pytest.raises(Problem) as caught:
        session.summary()
    assert caught.value.code == "STR108"


def test_other_shapes_leave_the_session_as_it_is():
    session = strop.Session(Net().eval(), (torch.randn(2, 24),), threads=1)
    before = session.program
    with torch.no_grad():
        session.module(torch.randn(3, 24))
    assert session.program is before and session.nests[0].writes[0].shape[0] == 2


def test_a_journal_may_be_given():
    journal = Journal()
    with journal.step("outer"):
        session = strop.Session(Net().eval(), (torch.randn(6, 24),), journal=journal, threads=1)
    assert session.journal is journal and "capture" in session.summary()["step_seconds"]


def test_check_mode_verifies_what_each_step_made(monkeypatch):
    from strop.schedule import planners

    options = strop.Options(check=True, cache=False, threads=1)
    strop.Session(Net().eval(), (torch.randn(2, 24),), options=options)

    def broken(lowered, journal, **settings):
        return replace(lowered, nests=lowered.nests[::-1]), []

    monkeypatch.setattr(planners, "fused", broken)
    with pytest.raises(Problem, match="after `fuse`") as caught:
        strop.Session(Net().eval(), (torch.randn(2, 24),), options=options)
    assert caught.value.code == "STR303"


@pytest.mark.parametrize("kind", ["dropmutations", "rewrite", "share", "name"])
def test_check_mode_verifies_every_pass_of_simplifying(kind, monkeypatch):
    monkeypatch.delenv("STROP_CHECK", raising=False)

    def breaking(one, graph, journal):
        (last,) = graph.outputs
        return replace(graph, outputs=(replace(last, types=(replace(last.type, shape=(9, 9)),)),))

    monkeypatch.setattr(Pass.registry[kind], "changed", breaking)
    options = strop.Options(check=True, cache=False, threads=1)
    with pytest.raises(Problem, match=f"after `{kind}"):
        strop.Session(Net().eval(), (torch.randn(2, 24),), options=options)


def test_check_mode_looks_at_a_program_that_is_in_the_cache_too(monkeypatch, tmp_path):
    monkeypatch.setenv("STROP_CACHE", str(tmp_path))
    x, options = torch.randn(2, 24), strop.Options(threads=1)
    strop.Session(Net().eval(), (x,), options=options)
    assert strop.Session(Net().eval(), (x,), options=options).cache_hit
    assert not strop.Session(Net().eval(), (x,), options=replace(options, check=True)).cache_hit


@pytest.mark.parametrize("steered", [False, True])
@pytest.mark.parametrize("cached", [False, True])
def test_asking_why_leaves_no_trace(cached, steered, monkeypatch, tmp_path):
    monkeypatch.setenv("STROP_CACHE", str(tmp_path))
    x, net = torch.randn(2, 24), Net().eval()
    if cached:
        strop.Session(net, (x,), threads=1)
    session = strop.Session(net, (x,), threads=1)
    assert session.cache_hit == cached
    if steered:
        session.apply("reset{nest=second.linear}")

    def looks():
        files = sorted((str(file), file.stat().st_mtime_ns) for file in tmp_path.rglob("*"))
        return dict(session.__dict__), list(session.journal.events), session.script(), files

    before = looks()
    assert not session.why("unroll{nest=second.linear loop=nowhere}")
    assert session.why()
    assert looks() == before
