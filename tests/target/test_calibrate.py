"""Calibration: the best of several rounds, said to be shaky when they disagree, kept and found again."""

from __future__ import annotations

import itertools

import pytest

from strop.core.cache import Cache
from strop.core.journal import StropWarning
from strop.target import calibrate
from strop.target.calibrate import Calibration
from strop.target.description import Target

ZEN4 = Target.find("znver4")


@pytest.fixture
def rates(monkeypatch):
    """What each round finds: GHz, then bytes per second of L1, L2, L3 and memory."""

    def pretend(*rounds: tuple[float, ...]) -> None:
        found = itertools.chain(*rounds, itertools.cycle(rounds[-1]))
        monkeypatch.setattr(calibrate, "_runs", lambda target: [(None, 1, 1.0)] * 5)
        monkeypatch.setattr(calibrate, "_rate", lambda call, times: next(found))

    return pretend


QUIET, BUSY = (4.0, 200e9, 100e9, 60e9, 20e9), (2.0, 60e9, 50e9, 20e9, 5e9)


def test_the_best_round_counts(rates):
    rates(BUSY, QUIET, QUIET, QUIET)
    found = calibrate.calibrate(ZEN4)
    assert found == Calibration(4.0, (50.0, 25.0, 15.0, 5.0), steady=True)
    assert found.of(ZEN4).bandwidth == (ZEN4.bandwidth[0], 25.0, 15.0, 5.0)
    assert Calibration(4.0, (20.0, 10.0, 5.0, 1.0)).of(ZEN4).bandwidth[0] == 20.0


def test_a_busy_machine_is_said_to_be_busy(rates):
    rates(BUSY, QUIET, BUSY, BUSY, BUSY)
    assert not calibrate.calibrate(ZEN4).steady


def test_no_level_is_faster_than_the_one_before_it(rates):
    rates((4.0, 200e9, 90e9, 120e9, 20e9))
    assert calibrate.calibrate(ZEN4).bandwidth == (50.0, 22.5, 22.5, 5.0)


def test_what_was_measured_is_found_again(tmp_path):
    cache, found = Cache(tmp_path), Calibration(3.6, (53.0, 30.0, 25.0, 6.0), steady=False)
    assert calibrate.kept(ZEN4, cache) is None
    assert calibrate.keep(found, ZEN4, cache)
    assert calibrate.kept(ZEN4, cache) == found
    assert calibrate.kept(Target.find("znver3"), cache) is None


@pytest.mark.parametrize(
    "stored",
    [
        b'{"ghz": "fast"}',
        b"[]",
        b'{"ghz": 0, "bandwidth": [50, 25, 20, 5]}',
        b'{"ghz": 3.5, "bandwidth": [50, 25, 20, -1]}',
        b'{"ghz": NaN, "bandwidth": [50, 25, 20, 5]}',
    ],
)
def test_numbers_that_make_no_sense_are_not_taken_and_that_is_said(tmp_path, stored):
    cache = Cache(tmp_path)
    cache.put(calibrate.key_of(ZEN4), stored)
    with pytest.warns(StropWarning, match="holds no measurement"):
        assert calibrate.kept(ZEN4, cache) is None
    assert cache.entries() == []


def test_this_machine_can_be_measured():
    from strop.target import host

    found = calibrate.calibrate(host.described_host())
    assert 0.2 < found.ghz < 10
    assert all(a >= b > 0 for a, b in itertools.pairwise(found.bandwidth))
