"""What is measured is kept only if it is faster twice, beyond noise, and the whole program with it. Times are given."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.tuning_database import MEASUREMENT, TuningDatabase
from strop.runtime.load_model import Model
from strop.runtime.measure import ProgramVariants, StepTimes
from strop.tune import measured
from strop.tune.measured import CONFIRMING_TURNS, measure_program
from strop.tune.nests import nest_groups, programs_of
from strop.tune.search import Candidate, SearchState
from strop.tune.tuner import Tuner

SCHEDULES = [
    "split{nest=k loop=n by=8} vectorise{nest=k loop=n.i} sink{nest=k loops=(n.i)}",
    "split{nest=k loop=n by=16} vectorise{nest=k loop=n.i} sink{nest=k loops=(n.i)}",
]


class Clock:
    """Stands in for a machine: the default takes 1000 ns, each schedule its share of that, in every turn."""

    def __init__(self, name: str, first: dict[str, list[float]], again: list[float], whole: float) -> None:
        self.name, self.first, self.again, self.whole = name, first, again, whole

    def step_times(self, variants, turns, stop):
        found = [StepTimes({self.name: [1000] * turns})]
        for edits in variants:
            text = " ".join(map(str, edits))
            shares = self.again if turns == CONFIRMING_TURNS else next(s for by, s in self.first.items() if by in text)
            found.append(StepTimes({self.name: [round(1000 * shares[i % len(shares)]) for i in range(turns)]}))
        return tuple(found)

    def whole_ratios(self, edits, turns, stop):
        return [self.whole] * turns


@pytest.fixture
def outcome(tmp_path, monkeypatch):
    def measure(first: dict[str, list[float]], again: list[float], whole: float = 0.9):
        store = TuningDatabase(tmp_path / "tuning.sqlite")
        model = Model("net", nn.Linear(64, 48).eval(), (torch.randn(12, 64),))
        programs = programs_of(model, Options(threads=1), Journal())
        work = Tuner(nest_groups(programs), store)
        (one,) = work.searches
        one.state = SearchState(1, 0, 100.0, tuple(Candidate(text, 90.0) for text in SCHEDULES))
        one.record = one.state.record(one.group.tuned)
        clock = Clock(programs[0].calls[0].name, first, again, whole)
        for name in ("step_times", "whole_ratios"):
            monkeypatch.setattr(ProgramVariants, name, lambda self, *a, name=name: getattr(clock, name)(*a))
        verdicts = measure_program(programs[0], work.searches, store, None, lambda text: None)
        (record,) = store.records()
        assert record.source == MEASUREMENT
        return record, verdicts

    return measure


def test_the_fastest_schedule_is_kept_with_what_it_took_the_second_time(outcome):
    record, verdicts = outcome({"by=8": [0.9], "by=16": [0.8]}, again=[0.85])
    assert "by=16" in record.passes and record.ratio == 0.85
    assert list(verdicts.kept.values()) == [0.85]


def test_luck_of_the_first_turns_is_not_believed(outcome):
    record, verdicts = outcome({"by=8": [0.9], "by=16": [0.8]}, again=[0.99])
    assert record.passes == "" and record.ratio == 1.0
    assert "within the noise" in next(iter(verdicts.refused.values()))


def test_what_is_faster_in_half_of_the_turns_only_is_noise(outcome):
    record, _ = outcome({"by=8": [0.9], "by=16": [0.8]}, again=[0.7, 0.7, 0.7, 1.3, 1.3])
    assert record.passes == ""


def test_a_program_that_is_slower_as_a_whole_takes_everything_back(outcome):
    record, verdicts = outcome({"by=8": [0.9], "by=16": [0.8]}, again=[0.85], whole=1.01)
    assert record.passes == "" and "whole program" in next(iter(verdicts.refused.values()))


def test_the_database_remembers_that_the_default_is_the_fastest(outcome):
    record, verdicts = outcome({"by=8": [1.1], "by=16": [0.99]}, again=[1.0])
    assert record.passes == "" and record.ratio == 1.0
    assert "of the default's time" in next(iter(verdicts.refused.values()))


def test_margins_are_those_of_the_documentation():
    assert (measured.MARGIN, measured.MOSTLY) == (0.985, 0.8)
