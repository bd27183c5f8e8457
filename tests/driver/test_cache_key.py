"""Programs are stored under everything that planning and code generation read, and under nothing else."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
import torch
from torch import nn

import strop
from strop.core.journal import Journal
from strop.core.options import ALGORITHMS, NOT_IN_CODE, Options
from strop.core.tuning_database import TuningDatabase, TuningRecord
from strop.driver import cache_key, pipeline
from strop.driver.artifact_format import to_bytes
from strop.frontend.torch.export import capture
from strop.schedule.tuned import target_digest, tuning_version
from strop.target import host
from strop.target.description import Target
from strop.target.ports import Ports

TARGET = Target.find("znver3")
OTHER_OPTIONS = {
    "layouts": "apart",
    "numerics": "exact",
    "target": "znver3",
    "threads": 2,
    "max_variants": 3,
    "memory": "balanced",
    "partition": "keep{value=relu}",
}


def another(value: object) -> object:
    """A value of the same kind that is not the same."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, Ports):
        return replace(value, width=value.width + 1)
    if isinstance(value, tuple) and all(isinstance(one, str) for one in value):
        return (*value, "x")
    if isinstance(value, tuple):
        return (*value[:-1], value[-1] + 1)
    assert isinstance(value, int | float)
    return value + 1


@pytest.fixture(scope="module")
def graph():
    return capture(nn.Linear(3, 4).eval(), (torch.randn(2, 3),)).graph


@pytest.mark.parametrize("name", [f.name for f in fields(Target)])
def test_every_field_of_a_machine_changes_the_key(graph, name):
    changed = replace(TARGET, **{name: another(getattr(TARGET, name))})
    keys = {cache_key.cache_key(graph, target, Options(), 1) for target in (TARGET, changed)}
    assert len(keys) == 2


def test_the_ports_change_the_key(graph):
    slow = replace(TARGET, core=replace(TARGET.ports, load_latency=99.0))
    assert cache_key.cache_key(graph, slow, Options(), 1) != cache_key.cache_key(graph, TARGET, Options(), 1)


@pytest.mark.parametrize("name", [f.name for f in fields(Options)])
def test_every_option_changes_the_key_unless_it_changes_no_code(graph, name):
    default = getattr(Options(), name)
    values = [OTHER_OPTIONS[name]] if name in OTHER_OPTIONS else [True, False] if default is None else [not default]
    for value in values:
        changed = Options(**{name: value})
        same = cache_key.cache_key(graph, TARGET, changed, 1) == cache_key.cache_key(graph, TARGET, Options(), 1)
        equal = name in ALGORITHMS and changed.use(name) == Options().use(name)  # told what the default says anyway
        assert same == (name in NOT_IN_CODE or equal)


def test_the_number_of_threads_changes_the_key(graph):
    assert cache_key.cache_key(graph, TARGET, Options(), 1) != cache_key.cache_key(graph, TARGET, Options(), 2)


def test_another_measurement_of_the_machine_is_another_program(tmp_path, monkeypatch):
    monkeypatch.setenv("STROP_CACHE", str(tmp_path))
    model, x = nn.Linear(3, 4).eval(), torch.randn(2, 3)
    strop.compile(model, (x,), threads=1)
    journals = Journal(), Journal()
    strop.compile(model, (x,), threads=1, journal=journals[0])
    faster = replace(host.host(), ghz=9.0)
    monkeypatch.setattr(host, "host", lambda: faster)
    strop.compile(model, (x,), threads=1, journal=journals[1])
    hits = [[event.message for event in journal.of("cache")] for journal in journals]
    assert "hit" in hits[0] and "hit" not in hits[1]


class Sorted(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sort(x + 1).values * 2


def test_programs_hold_no_names():
    """Or a program that another model has stored would speak of that model."""
    x = torch.randn(3, 5)

    def named(name: str) -> bytes:
        outer = nn.Module()
        outer.add_module(name, Sorted())
        outer.forward = lambda x: getattr(outer, name)(x)
        graph = capture(outer, (x,)).graph
        assert name in str(graph)
        return to_bytes(pipeline.compile_graph(graph, Options(cache=False), Journal(), 1))

    first, second = named("first_name"), named("other_name")
    assert first == second and b"first_name" not in first


def test_names_are_not_in_the_key(graph):
    renamed = replace(graph, outputs=(replace(graph.outputs[0], name="renamed"),))
    assert cache_key.cache_key(renamed, TARGET, Options(), 1) == cache_key.cache_key(graph, TARGET, Options(), 1)


def test_schedules_tuned_for_the_machine_are_in_the_key(graph, monkeypatch, tmp_path):
    monkeypatch.setenv("STROP_TUNING", str(tmp_path / "tuning.sqlite"))
    before = [cache_key.cache_key(graph, TARGET, Options(tuned=tuned), 1) for tuned in (True, False)]
    found = {"target": target_digest(TARGET), "version": tuning_version(), "threads": 1, "pack": True, "passes": "x{}"}
    rest = {"nest": "n", "machine": "m", "shape": "", "source": "estimate", "ratio": 0.5, "rounds": 1, "state": "{}"}
    TuningDatabase().put(TuningRecord(**found, **rest))
    after = [cache_key.cache_key(graph, TARGET, Options(tuned=tuned), 1) for tuned in (True, False)]
    assert before[0] != after[0] and before[1] == after[1]
    assert cache_key.cache_key(graph, TARGET, Options(), 2) not in after
    TuningDatabase().put(TuningRecord(**{**found, "target": "another machine"}, **rest))
    assert cache_key.cache_key(graph, TARGET, Options(), 1) == after[0]
