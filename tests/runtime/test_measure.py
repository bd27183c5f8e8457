"""`measure`: within its budget, never another result, remembered. How fast anything is, is no test's business."""

from __future__ import annotations

import time
import types

import pytest
import torch
from torch import nn

import strop
from strop.core.cache import Cache
from strop.core.journal import Journal
from strop.core.options import MEASURE_SECONDS, Options
from strop.core.problem import Problem
from strop.driver.artifact import Artifact
from strop.driver.artifact_format import from_bytes
from strop.runtime import measure
from strop.runtime.cross_compile import cross_compile, is_foreign
from strop.target import host
from strop.target.description import TARGETS, Target


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3, stride=2), nn.Flatten(),
                         nn.Linear(24 * 7 * 7, 19)).eval()  # fmt: skip


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STROP_CACHE", str(tmp_path))
    return Cache(tmp_path)


def measured(cache: Cache) -> list[Artifact]:
    found = []
    for entry in cache.entries():
        try:
            found.append(from_bytes(cache.get(entry.key)))
        except Problem:
            continue
    return [one for one in found if one.about.measured]


@pytest.fixture
def own_time(monkeypatch):
    """Budgets are of this process's time: a busy machine leaves no less of them."""
    monkeypatch.setattr(measure, "time", types.SimpleNamespace(perf_counter=time.process_time))


@pytest.mark.slow
def test_a_measured_program_computes_the_same_and_is_remembered(model, cache, own_time):
    x, told = torch.randn(1, 3, 16, 16), []
    journal, start = Journal(on_step=told.append), time.process_time()
    fast = strop.compile(model, (x,), threads=1, measure=4, journal=journal)
    assert time.process_time() - start < 60
    with torch.no_grad():
        torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    assert any("measuring" in text and "%" in text for text in told)
    assert [event.subject for event in journal.of("note")].count("measure") == 1
    assert len(measured(cache)) == 1

    again = Journal()
    strop.compile(model, (x,), threads=1, measure=4, journal=again)
    assert any("measured before" in event.message for event in again.events)
    plain = strop.Session(model, (x,), options=Options(threads=1))
    assert plain.cache_hit
    assert not plain.compiled.about.measured  # who does not ask for measuring gets the program of the model
    assert strop.Session(model, (x,), options=Options(threads=1, measure=4)).explain()


def test_what_measuring_may_be_told():
    assert Options(measure=True).measure == MEASURE_SECONDS
    assert Options(measure=False).measure == 0
    assert Options(measure=5).code_key != Options().code_key
    for wrong in (-1, float("nan"), "long"):
        with pytest.raises(Problem, match="measure must be"):
            Options(measure=wrong)


def test_code_for_another_family_is_not_run(model):
    other = "neoverse-n1" if Target.find("x86-64").triple.split("-")[0] == host_family() else "x86-64-v3"
    with pytest.raises(Problem, match="does not run on this machine"):
        strop.compile(model, (torch.randn(1, 3, 16, 16),), target=other, cache=False)


def test_a_shipped_description_of_the_cpu_at_hand_is_not_foreign():
    here = host.described_host()
    own = [name for name, target in TARGETS.items() if target.runs_on(here)]
    assert own and not any(is_foreign(Options(target=name)) for name in own)


def host_family() -> str:
    return host.described_host().triple.split("-")[0]


@pytest.mark.parametrize("name", ["znver3", "skylake-avx512", "neoverse-v1"])
def test_a_model_is_estimated_for_a_machine_that_is_not_at_hand(model, name):
    options = Options(target=name, threads=1, cache=False)
    found = cross_compile(model, (torch.randn(1, 3, 16, 16),), None, options, Journal())
    assert is_foreign(options) == (not Target.find(name).runs_on(host.described_host()))
    assert found.milliseconds > 0
    assert "nothing was run" in found.summary()["target"]
    assert "held by" in found.explain()
    faster = cross_compile(model, (torch.randn(1, 3, 16, 16),), None, options, Journal())
    assert faster.milliseconds == found.milliseconds
