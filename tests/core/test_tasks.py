"""Tasks come back once each, from processes that may die, in no particular order."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from strop.core.problem import Problem
from strop.core.tasks import ATTEMPTS, LocalPool, run_all


def double(number: int) -> int:
    return 2 * number


def fragile(task: tuple[str, str]) -> str:
    """Ends its process the first time, always, or never; or raises."""
    kind, folder = task
    seen = len(list(Path(folder).glob(f"{kind}*")))
    (Path(folder) / f"{kind}{seen}").touch()
    if kind == "raises":
        raise ValueError("a bad task")
    if kind == "always" or (kind == "once" and not seen):
        os.kill(os.getpid(), signal.SIGKILL)
    return kind


def sleeping(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


@pytest.fixture
def pool(request, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    with LocalPool("test_tasks", request.param, 2) as made:
        yield made


@pytest.mark.parametrize("pool", ["double"], indirect=True)
def test_every_task_comes_back_with_its_result(pool):
    found = {done.task: done.result for done in run_all(pool, range(30))}
    assert found == {number: 2 * number for number in range(30)}


@pytest.mark.parametrize("pool", ["double"], indirect=True)
def test_tasks_are_drawn_as_there_is_room_for_them(pool):
    drawn = []

    def tasks():
        for number in range(40):
            drawn.append(number)
            yield number

    for back, _ in enumerate(run_all(pool, tasks()), 1):
        assert len(drawn) <= back + 4


@pytest.mark.parametrize("pool", ["fragile"], indirect=True)
def test_a_task_whose_process_dies_is_tried_again_and_others_are_not_concerned(pool, tmp_path):
    kinds = ["never", "once", "always", "raises"]
    found = {done.task[0]: done for done in run_all(pool, [(kind, str(tmp_path)) for kind in kinds])}
    assert found["never"].result == "never" and found["once"].result == "once"
    assert "SIGKILL" in found["always"].problem.message and f"{ATTEMPTS} times" in found["always"].problem.message
    assert found["raises"].problem.message == "ValueError: a bad task"
    assert len(list(tmp_path.glob("always*"))) == ATTEMPTS and len(list(tmp_path.glob("raises*"))) == 1


@pytest.mark.parametrize("pool", ["sleeping"], indirect=True)
def test_waiting_ends_when_time_is_over_and_closing_does_not_wait_for_tasks(pool):
    pool.submit(60.0)
    assert pool.wait(0.05) is None
    start = time.monotonic()
    pool.close()
    assert time.monotonic() - start < 4 and pool.running == 0


@pytest.mark.parametrize("pool", ["sleeping"], indirect=True)
def test_a_process_serves_many_tasks(pool):
    assert len({done.result for done in run_all(pool, [0.0] * 12)}) <= 2


@pytest.mark.parametrize("pool", ["double"], indirect=True)
def test_waiting_for_nothing_is_a_mistake(pool):
    with pytest.raises(Problem, match="nothing was submitted"):
        pool.wait()
