"""What tuning and scanning take on a cluster, simulated with the costs that `benchmarks/scale.py` measured.

    python benchmarks/scale_simulation.py --costs docs/scale.json

One driver hands out tasks and commits results, one at a time; workers run tasks. That is what `strop tune --ray` does:
one task waits behind each that runs (none where `--workers` are named), and where the driver is late with the next
ones, workers wait for it. A task takes a time drawn from the measured ones. Variants show where the bottleneck goes
when the first one is widened: models captured and planned by workers and not by the driver, results committed in
batches, several rounds in one task.

First runs of a real cluster are simulated, to see how far the simulation can be believed: from the costs of tasks on
one worker, and from nothing that was measured in the run itself.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from strop.core.tasks import WAITING


@dataclass(frozen=True)
class Costs:
    """Seconds: of the driver per task sent, per commit and per model planned; of a worker per task."""

    dispatch: float
    commit: float
    plan: float
    tasks: tuple[float, ...]


@dataclass(frozen=True)
class Simulated:
    """How long it took, and the shares of that time in which workers and the driver were busy."""

    seconds: float
    workers_busy: float
    driver_busy: float

    @property
    def bottleneck(self) -> str:
        return "driver" if self.driver_busy > 0.9 else "workers" if self.workers_busy > 0.9 else "the last tasks"


def simulate(
    tasks: Iterator[float],
    workers: int,
    costs: Costs,
    planning: float = 0.0,
    batch: int = 1,
    ahead: int = WAITING,
) -> Simulated:
    """Tasks with the seconds that each takes a worker. `planning` are seconds of the driver before each task, `batch`
    results are committed together, and `ahead` tasks wait behind each that runs."""
    driver, busy, worked, uncommitted = 0.0, 0.0, 0.0, 0
    free = [0.0] * workers  # when each worker has done what it was given
    underway: list[float] = []  # when each task that was sent comes back
    more = True
    while True:
        while more and len(underway) < workers * (1 + ahead):
            task = next(tasks, None)
            if task is None:
                more = False
                break
            driver += costs.dispatch + planning
            busy += costs.dispatch + planning
            worked += task
            done = max(driver, heapq.heappop(free)) + task
            heapq.heappush(free, done)
            heapq.heappush(underway, done)
        if not underway:
            break
        driver = max(driver, heapq.heappop(underway))
        uncommitted += 1
        if uncommitted >= batch or not underway:
            driver += costs.commit
            busy += costs.commit
            uncommitted = 0
    return Simulated(driver, worked / workers / driver, busy / driver)


def drawn(count: int, costs: Costs, factor: float = 1.0) -> Iterator[float]:
    rng = random.Random(0)
    for _ in range(count):
        yield factor * rng.choice(costs.tasks)


# ---- what is simulated -----------------------------------------------------------------------------------------------

MODELS, TARGETS = 10_000, 20
NESTS = 20  # distinct ones of a model, of which others have had
NEW_SHARE = 0.25  # none of the models before
ROUNDS = 6  # of a search until it ends
SEARCHES = int(MODELS * NESTS * NEW_SHARE) * TARGETS
LINES = 10e9  # of Python: an assumption, to be scaled by whoever knows better
LINES_PER_SECOND = 1_680  # of a core: `strop scan` without its cache, on this machine
UNIT = 4_000  # lines of a task


def validation(document: dict[str, Any], costs: Costs) -> list[str]:
    """Real runs beside their simulation: rounds on two workers by their times on one, and tasks that only wait. All of
    them named their workers, so that no task waited behind another."""
    rounds = document["runs"][0]["rounds"]
    runs = [("rounds", run, rounds, costs) for run in document["runs"]]
    for run in document["waiting"]:
        told = f"{run['count']} tasks of {1000 * run['each']:.0f} ms"
        runs.append((told, run, [run["each"]] * run["count"], replace(costs, commit=0.0)))
    rows = ["| what | workers | measured s | simulated s | apart | driver busy |",
            "| --- | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for told, run, tasks, used in runs:
        found = simulate(iter(tasks), run["workers"], used, ahead=0)
        apart = f"{found.seconds / run['seconds'] - 1:+.1%} | {found.driver_busy:.0%}"
        rows.append(f"| {told} | {run['workers']} | {run['seconds']:.2f} | {found.seconds:.2f} | {apart} |")
    return rows


def table(name: str, count: int, costs: Costs, sizes: tuple[int, ...], factor: float, **how: Any) -> list[str]:
    """Days on clusters of several sizes. Ten thousand tasks stand for all, and the time is scaled: both queues are
    steady by then."""
    rows = []
    for workers in sizes:
        part = min(count, max(20_000, 20 * workers))
        found = simulate(drawn(part, costs, factor), workers, costs, **how)
        days = found.seconds * count / part / 86_400
        busy = f"{found.workers_busy:.0%} | {found.driver_busy:.0%}"
        rows.append(f"| {name} | {workers:,} | {days:,.2f} | {busy} | {found.bottleneck} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="What tuning and scanning take on a cluster.")
    parser.add_argument("--costs", type=Path, default=Path("docs/scale.json"))
    given = parser.parse_args()
    document = json.loads(given.costs.read_text())
    tasks = tuple(document["runs"][0]["rounds"])
    costs = Costs(document["dispatch_seconds"], document["commit_seconds"], document["plan_seconds"], tasks)
    print("\n".join(validation(document, costs)))
    sizes = (2, 32, 256, 1_024, 4_096)
    rounds = SEARCHES * ROUNDS
    per_round = costs.plan * MODELS * TARGETS / rounds  # planning of a model and target, shared by its rounds
    print(f"\n{MODELS:,} models × {TARGETS} targets: {rounds:,} rounds of {sum(tasks) / len(tasks):.2f} s\n")
    print(
        "| what | workers | days | workers busy | driver busy | bottleneck |\n| --- | ---: | ---: | ---: | ---: | --- |"
    )
    rows = table("tuning, as it is", rounds, costs, sizes, 1.0, planning=per_round)
    rows += table("tuning, planned by workers", rounds, costs, sizes, 1.0)
    rows += table("tuning, and commits of 64", rounds, costs, sizes, 1.0, batch=64)
    rows += table("tuning, and 16 rounds a task", rounds // 16, costs, sizes, 16.0, batch=64)
    seconds = UNIT / LINES_PER_SECOND
    scanning = replace(costs, tasks=(seconds,))
    rows += table("scanning, as it is", int(LINES / UNIT), scanning, sizes, 1.0)
    rows += table("scanning, 64 units a task", int(LINES / UNIT / 64), scanning, sizes, 64.0)
    print("\n".join(rows))


if __name__ == "__main__":
    main()
