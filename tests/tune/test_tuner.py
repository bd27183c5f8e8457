"""`strop tune` as a whole: committed round by round, resumed, the same for any number of workers, used by compilations."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import nn

import strop
from strop.core.extensions import registry
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.tasks import Done, LocalPool
from strop.core.tuning_database import TuningDatabase
from strop.runtime.load_model import Model
from strop.tune import search
from strop.tune.nests import nest_groups, programs_of
from strop.tune.search import Candidate, SearchState, search_round
from strop.tune.tuner import SEARCH, Tuner


class Here:
    """A pool that runs a task when it is waited for, in this process."""

    def __init__(self, limit: int = 1000) -> None:
        self.tasks, self.limit = [], limit

    @property
    def running(self) -> int:
        return len(self.tasks)

    @property
    def free(self) -> bool:
        return not self.tasks and self.limit > 0

    def submit(self, task):
        self.limit -= 1
        self.tasks.append(task)

    def wait(self, timeout=None):
        task = self.tasks.pop()
        return Done(task, search_round(task))

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    for name, value in (("DRAWS", 4), ("ESTIMATED", 2), ("ROUNDS", 2)):
        monkeypatch.setattr(search, name, value)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("STROP_TUNING", str(tmp_path / "tuning.sqlite"))
    return TuningDatabase()


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(96, 64), nn.ReLU(), nn.Linear(64, 40)).eval()


def groups_of(model: nn.Module, **options: object):
    return nest_groups(
        programs_of(Model("net", model, (torch.randn(12, 96),)), Options(threads=1, **options), Journal())
    )


def test_every_nest_is_searched_to_its_end_and_committed(store, model):
    told = []
    work = Tuner(groups_of(model), store, told.append)
    work.search(Here(), None)
    assert all(one.ended for one in work.searches)
    assert [one.rounds for one in store.records()] == [one.state.rounds for one in work.searches]
    assert "best so far" in told[-1] and any("ends in about" in text for text in told)


def test_a_search_in_pieces_ends_with_the_same_database(store, model, tmp_path):
    Tuner(groups_of(model), store).search(Here(), None)
    other = TuningDatabase(tmp_path / "pieces.sqlite")
    runs = 0
    while other.export() != store.export():
        Tuner(groups_of(model), other).search(Here(limit=1), None)
        runs += 1
    assert runs == sum(one.rounds for one in store.records())


def test_a_round_that_another_process_is_ahead_of_does_not_take_it_back(store, model):
    late = Tuner(groups_of(model)[:1], store)
    Tuner(groups_of(model)[:1], store).search(Here(), None)
    before = store.export()
    late.search(Here(limit=1), None)
    assert store.export() == before


def test_two_nests_that_are_equal_are_one(store):
    layers = [
        nn.Sequential(nn.Linear(96, 96), nn.ReLU()) for _ in range(4)
    ]  # only the inner ones: input, arena, output
    assert sorted(len(group.places) for group in groups_of(nn.Sequential(*layers).eval())) == [1, 1, 2]


def put_schedule(store: TuningDatabase, model: nn.Module, text: str) -> None:
    group = groups_of(model)[0]
    state = SearchState(1, 0, 100.0, (Candidate(text, 50.0),))
    store.put(state.record(group.tuned))


def test_compilations_use_what_was_tuned_and_compute_the_same(store, model):
    put_schedule(store, model, "split{nest=k loop=n by=8} vectorise{nest=k loop=n.i} sink{nest=k loops=(n.i)}")
    x = torch.randn(12, 96)
    session = strop.Session(model, (x,), options=Options(threads=1))
    assert "by=8" in " ".join(map(str, session.history))
    with torch.no_grad():
        torch.testing.assert_close(session.module(x), model(x), rtol=1e-4, atol=1e-5)
    plain = strop.Session(model, (x,), options=Options(threads=1, tuned=False))
    assert "loop=n by=8}" not in " ".join(map(str, plain.history))


@pytest.mark.parametrize("text", ["split{nest=k loop=nowhere by=8}", "nopass{nest=k}", "no text of a pass"])
def test_a_record_that_does_not_fit_leaves_the_default_schedule(store, model, text):
    put_schedule(store, model, text)
    x = torch.randn(12, 96)
    fast = strop.compile(model, (x,), threads=1, cache=False)
    with torch.no_grad():
        torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)


def test_a_damaged_database_does_not_stop_a_compilation(store, model):
    store.path.write_bytes(b"no database at all, whatever it is called" * 30)
    journal, x = Journal(), torch.randn(12, 96)
    with pytest.warns(match="going on with default schedules"):
        strop.compile(model, (x,), threads=1, journal=journal)(x)


def test_a_record_for_another_machine_is_not_used(store, model):
    group = groups_of(model, target="znver3")[0]
    store.put(SearchState(1, 0, 100.0, (Candidate("split{nest=k loop=n by=8}", 50.0),)).record(group.tuned))
    x = torch.randn(12, 96)
    here = strop.Session(model, (x,), options=Options(threads=1, cache=False))
    assert "loop=n by=8}" not in " ".join(map(str, here.history))


@pytest.fixture
def no_extensions():
    """Passes that other tests have defined are unknown to other processes, which would refuse to work for this one."""
    with registry.temporarily():
        for extension in list(registry):
            registry.remove(extension.kind, extension.name)
        yield


@pytest.mark.usefixtures("no_extensions")
def test_processes_come_to_the_same_database(store, model, tmp_path):
    exports = []
    for workers in (1, 2):
        database = TuningDatabase(tmp_path / f"{workers}.sqlite")
        with LocalPool(*SEARCH, workers) as pool:
            work = Tuner(groups_of(model)[:1], database)
            work.searches[0].state = SearchState(rounds=search.ROUNDS - 1)
            work.search(pool, None)
        assert not work.searches[0].failed
        exports.append(database.export())
    assert exports[0] == exports[1] and len(exports[0].splitlines()) == 2


def test_time_that_is_up_ends_a_search(store, model):
    work = Tuner(groups_of(model), store)
    work.search(Here(), 0.0)
    assert not store.records()


MODEL = '''
import torch
from torch import nn
def make():
    """Enough different nests that the search goes on for a while after its first record."""
    widths = [96 + 24 * i for i in range(16)]
    layers = [part for pair in zip(widths, widths[1:]) for part in (nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*layers).eval(), (torch.randn(12, widths[0]),)
'''


def test_ctrl_c_leaves_what_was_committed_and_no_process(store, tmp_path):
    (tmp_path / "net.py").write_text(MODEL)
    command = [sys.executable, "-m", "strop", "tune", f"{tmp_path}/net.py:make", "--threads", "1", "--workers", "1"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    while running.poll() is None and not (store.path.exists() and store.records()):
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 130 and "interrupted" in said and "Traceback" not in said
    assert store.records() and json.loads(store.records()[0].state)["rounds"] >= 1
    assert not _children(str(tmp_path))


def _children(mark: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes() and path.parent.name != str(os.getpid()):
                found.append((path.parent / "cmdline").read_text())
        except OSError:
            continue
    return [one for one in found if "serve(" in one]
