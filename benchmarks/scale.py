"""Tuning on a Ray cluster of two nodes on this machine: scaling from one worker to two, and what each step costs.

    python benchmarks/scale.py --json docs/scale.json [--rounds 12]

Rounds of searches of real nests are the tasks, as `strop tune --ray` runs them, results committed as they come. Workers
are warm before the clock runs. Two workers need two free cores: `core_share` says how much of a core they had, and an
efficiency that was measured with less than 0.95 says more of the machine's other work than of Strop. The costs that are
written are what `benchmarks/scale_simulation.py` simulates with. It is validated by runs that gave it none of its
numbers: the one on two workers, from the times of the rounds on one, and tasks that only wait, which need no core, on
up to eight workers of the two nodes, where it is the driver that has no time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.ray_tasks import RayPool
from strop.core.tasks import run_all
from strop.core.tuning_database import TuningDatabase
from strop.runtime.load_model import Model, load
from strop.schedule.tuned import tuning_version
from strop.tune.nests import NestGroup, nest_groups, programs_of
from strop.tune.search import SearchState, SearchTask, search_round


def timed_round(task: SearchTask) -> tuple[SearchState, float, float]:
    """A round with how long it took where it ran, and for how much of that time it had a core."""
    start, cpu = time.perf_counter(), time.process_time()
    state = search_round(task)
    return state, time.perf_counter() - start, time.process_time() - cpu


def nothing(task: int) -> int:
    return task


def nests(count: int) -> list[NestGroup]:
    layers: list[nn.Module] = [nn.Linear(96 + 32 * i, 64 + 16 * (i % 3)) for i in range(count)]
    programs = []
    for i, layer in enumerate(layers):
        model = Model(f"linear{i}", layer.eval(), (torch.randn(16, 96 + 32 * i),))
        programs += programs_of(model, Options(threads=1), Journal())
    return nest_groups(programs)


def run(address: str, workers: int, groups: list[NestGroup], folder: str) -> dict[str, Any]:
    """Every nest's first round on so many workers, committed as they come."""
    database = TuningDatabase(f"{folder}/{workers}.sqlite")
    tasks = [SearchTask(group.tuned, SearchState(), tuning_version()) for group in groups]
    rounds, cores, commits = [], [], []
    with RayPool(address, "scale", "timed_round", workers) as pool:
        list(run_all(pool, tasks[:workers]))  # workers start and import
        start = time.perf_counter()
        for done in run_all(pool, tasks):
            state, seconds, cpu = done.result
            rounds.append(seconds)
            cores.append(cpu)
            begun = time.perf_counter()
            database.put(state.record(done.task.nest))
            commits.append(time.perf_counter() - begun)
        seconds = time.perf_counter() - start
    share = sum(cores) / sum(rounds)
    return {"workers": workers, "seconds": seconds, "rounds": rounds, "core_share": share, "commit_seconds": commits}


def waiting(address: str, workers: int, count: int, seconds: float) -> dict[str, Any]:
    """Tasks that wait for so long, on so many workers."""
    with RayPool(address, "time", "sleep", workers) as pool:
        list(run_all(pool, [0.05] * 4 * workers))  # all workers have started
        start = time.perf_counter()
        list(run_all(pool, [seconds] * count))
        return {"workers": workers, "count": count, "each": seconds, "seconds": time.perf_counter() - start}


def dispatch(address: str, count: int) -> float:
    """Seconds of the driver per task that does nothing."""
    with RayPool(address, "scale", "nothing", 1) as pool:
        list(run_all(pool, range(5)))
        start = time.perf_counter()
        list(run_all(pool, range(count)))
        return (time.perf_counter() - start) / count


def plan(network: str, count: int) -> list[float]:
    """Seconds to capture a network and plan it for another machine: what the driver does before the first task."""
    taken = []
    for _ in range(count):
        model = load(network)
        start = time.perf_counter()
        nest_groups(programs_of(model, Options(threads=1, target="neoverse-n1"), Journal()))
        taken.append(time.perf_counter() - start)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description="Scaling from one worker to two, and what each step costs.")
    parser.add_argument("--rounds", type=int, default=12, help="tasks of each run")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    from ray.cluster_utils import Cluster

    def started(cpus: int) -> Any:
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": cpus, "include_dashboard": False})
        made.add_node(num_cpus=cpus)
        made.wait_for_nodes()
        return made

    groups = nests(given.rounds)
    cluster = started(1)
    with tempfile.TemporaryDirectory() as folder:
        runs = [run(cluster.address, workers, groups, folder) for workers in (1, 2)]
        same = len({TuningDatabase(f"{folder}/{workers}.sqlite").export() for workers in (1, 2)}) == 1
    found = {
        "runs": runs,
        "efficiency": runs[0]["seconds"] / runs[1]["seconds"] / 2,
        "same_database": same,
        "dispatch_seconds": dispatch(cluster.address, 300),
        "plan_seconds": statistics.median(plan("resnet18", 3)),
        "commit_seconds": statistics.median(runs[0]["commit_seconds"] + runs[1]["commit_seconds"]),
        "round_seconds": statistics.mean(runs[0]["rounds"]),
    }
    cluster.shutdown()
    cluster = started(4)
    found["waiting"] = [
        waiting(cluster.address, workers, count, seconds)
        for workers, count, seconds in ((2, 40, 0.1), (8, 160, 0.1), (8, 400, 0.02), (8, 400, 0.005))
    ]
    cluster.shutdown()
    told = {name: value for name, value in found.items() if name not in ("runs", "waiting")}
    print(json.dumps(told, indent=1))
    print(
        "seconds:", [round(one["seconds"], 2) for one in runs], "share of a core:", [one["core_share"] for one in runs]
    )
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
