"""The simulation of a cluster: what is known without simulating."""

import pytest
from scale_simulation import Costs, simulate

FREE = Costs(dispatch=0.0, commit=0.0, plan=0.0, tasks=())


def test_a_driver_that_costs_nothing_keeps_all_workers_busy():
    found = simulate(iter([1.0] * 12), 4, FREE)
    assert found.seconds == pytest.approx(3.0) and found.workers_busy == pytest.approx(1.0)


def test_a_driver_that_takes_longer_than_workers_sets_the_pace():
    found = simulate(iter([0.01] * 100), 8, Costs(dispatch=0.02, commit=0.03, plan=0.0, tasks=()))
    assert found.seconds == pytest.approx(100 * 0.05, rel=0.02) and found.bottleneck == "driver"


def test_a_task_that_waits_behind_each_hides_the_driver():
    costs = Costs(dispatch=0.1, commit=0.1, plan=0.0, tasks=())
    alone, ahead = (simulate(iter([1.0] * 50), 1, costs, ahead=count).seconds for count in (0, 1))
    assert alone == pytest.approx(50 * 1.2, rel=0.01) and ahead == pytest.approx(50 * 1.0, rel=0.01)


def test_results_that_are_committed_together_cost_one_commit():
    costs = Costs(dispatch=0.0, commit=1.0, plan=0.0, tasks=())
    assert simulate(iter([0.0] * 10), 2, costs, batch=5).seconds == pytest.approx(2.0)
