"""A Ray cluster of two nodes on this machine: nothing that was finished is lost, and results are those of one process.

Apart from `make test`: `make test-scale` installs Ray and runs these.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from core.test_tasks import fragile, sleeping
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.core.ray_tasks import LARGEST, RayPool
from strop.core.tasks import LocalPool, run_all
from strop.core.tuning_database import TuningDatabase
from strop.runtime.load_model import Model
from strop.source.project.settings import Settings
from strop.source.scan_project import scan_project
from strop.tune.nests import nest_groups, programs_of
from strop.tune.search import ROUNDS, SearchState
from strop.tune.tuner import SEARCH, Tuner

pytestmark = pytest.mark.scale
HERE = str(Path(__file__).parent)


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    os.environ["PYTHONPATH"] = os.pathsep.join([HERE, os.environ.get("PYTHONPATH", "")])  # workers import tasks of ours
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    made.wait_for_nodes()
    yield made
    made.shutdown()


def pool(cluster, function: str, workers: int | None = None) -> RayPool:
    return RayPool(cluster.address, "test_tasks", function, workers)


def test_every_task_comes_back_from_all_nodes(cluster):
    with pool(cluster, "double") as tasks:
        assert tasks.workers == 2
        found = {done.task: done.result for done in run_all(tasks, range(40))}
    assert found == {number: 2 * number for number in range(40)}


def test_few_tasks_are_on_their_way_at_once(cluster):
    drawn = []

    def tasks():
        for number in range(30):
            drawn.append(number)
            yield number

    with pool(cluster, "double") as made:
        for back, _ in enumerate(run_all(made, tasks()), 1):
            assert len(drawn) <= back + 4


def test_a_killed_worker_costs_one_attempt(cluster, tmp_path):
    assert fragile
    kinds = ["never", "once", "always", "raises"]
    with pool(cluster, "fragile") as tasks:
        found = {done.task[0]: done for done in run_all(tasks, [(kind, str(tmp_path)) for kind in kinds])}
    assert found["never"].result == "never" and found["once"].result == "once"
    assert found["always"].problem.code == "STR506"
    assert found["raises"].problem.message == "ValueError: a bad task"


def test_a_lost_node_loses_no_task(cluster):
    assert sleeping
    node = cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    back = []
    with pool(cluster, "sleeping") as tasks:
        for done in run_all(tasks, [0.5] * 16):
            back.append(done)
            if len(back) == 3:
                cluster.remove_node(node, allow_graceful=False)
    assert len(back) == 16 and all(done.problem is None for done in back)


def test_what_is_too_large_to_be_sent_is_refused(cluster):
    with pool(cluster, "double") as tasks, pytest.raises(Problem, match="too large"):
        tasks.submit("x" * (LARGEST + 1))


def test_a_cluster_that_is_not_there_is_named():
    with pytest.raises(Problem, match="no Ray cluster at"):
        RayPool("127.0.0.1:1", "test_tasks", "double")


# ---- tuning and scanning ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def groups():
    model = nn.Sequential(nn.Linear(96, 64), nn.ReLU(), nn.Linear(64, 40)).eval()
    made = Model("net", model, (torch.randn(12, 96),))
    return nest_groups(programs_of(made, Options(threads=1), Journal()))


def tuned(groups, database: TuningDatabase, tasks, rounds: int = 2) -> Tuner:
    """The last rounds of every search."""
    work = Tuner(groups, database)
    for one in work.searches:
        if one.record is None:
            one.state = SearchState(rounds=ROUNDS - rounds)
    with tasks:
        work.search(tasks, None)
    return work


def test_tuning_on_a_cluster_makes_the_same_database(cluster, groups, tmp_path):
    here, there = TuningDatabase(tmp_path / "here.sqlite"), TuningDatabase(tmp_path / "there.sqlite")
    tuned(groups, here, LocalPool(*SEARCH, 1))
    tuned(groups, there, RayPool(cluster.address, *SEARCH))
    assert len(here.records()) == len(groups) and there.export() == here.export()


def test_a_driver_that_starts_again_goes_on_where_it_was(cluster, groups, tmp_path):
    here, there = TuningDatabase(tmp_path / "here.sqlite"), TuningDatabase(tmp_path / "there.sqlite")
    tuned(groups, here, LocalPool(*SEARCH, 1))
    work = Tuner(groups, there)
    for one in work.searches:
        one.state = SearchState(rounds=ROUNDS - 2)
    with RayPool(cluster.address, *SEARCH, 1) as tasks:
        tasks_left = iter([True])
        work._next = lambda find=work._next: find() if next(tasks_left, False) else None  # one round, then nothing
        work.search(tasks, None)
    assert len(there.records()) == 1
    resumed = Tuner(groups, there)
    for one in resumed.searches:
        one.state = one.state if one.record is not None else replace(one.state, rounds=ROUNDS - 2)
    with RayPool(cluster.address, *SEARCH) as tasks:
        resumed.search(tasks, None)
    assert there.export() == here.export()


SOURCE = "import torch\nfrom torch import nn\nclass Net{n}(nn.Module):\n    def forward(self, x):\n        return x * torch.sigmoid(x)\n"


def test_a_scan_on_a_cluster_says_the_same(cluster, tmp_path):
    for project in range(3):
        (tmp_path / f"p{project}").mkdir()
        for n in range(3):
            (tmp_path / f"p{project}" / f"net{n}.py").write_text(SOURCE.format(n=n))
    folders = [str(tmp_path / f"p{project}") for project in range(3)]
    here = scan_project(folders, Settings(), jobs=1)
    assert scan_project(folders, Settings(), ray=cluster.address) == here and here.functions


def test_the_command_line_uses_a_cluster(cluster, tmp_path):
    (tmp_path / "net.py").write_text(
        "import torch\ndef make():\n    return torch.nn.Linear(8, 8).eval(), (torch.randn(2, 8),)\n"
    )
    env = {**os.environ, "STROP_TUNING": str(tmp_path / "t.sqlite"), "STROP_CACHE": str(tmp_path)}
    command = [sys.executable, "-m", "strop", "tune", f"{tmp_path}/net.py:make", "--threads", "1", "--seconds", "120",
               "--ray", cluster.address, "--json"]  # fmt: skip
    start = time.monotonic()
    run = subprocess.run(command, capture_output=True, text=True, env=env, timeout=200)
    assert run.returncode == 0, run.stderr
    (nest,) = json.loads(run.stdout)["nests"]
    assert nest["rounds"] >= 1 and not nest["failed"] and time.monotonic() - start < 190
