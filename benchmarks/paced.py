"""Runs a script of `benchmarks/projects` as it is, one step at a time: a step begins when it asks for its next input.

    python benchmarks/paced.py train.py        a number of steps on standard input → seconds per step on standard output

`DataLoader`s hand out their first batches over and over, and `queue.Queue.get` its first item, so that a loop over them
never ends and loading data costs nothing. The first line of output is the time until the first input is asked for;
`pin N` lets the process run on one CPU only. What the script prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import queue
import runpy
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

_KEPT = 4  #: batches of a loader that take turns


class Pace:
    """Stops the program before a step until somebody asks for more of them."""

    def __init__(self, out: Any) -> None:
        self.out = out
        self.begun = time.perf_counter()
        self.count = self.left = 1

    def step(self) -> None:
        self.left -= 1
        if self.left:
            return
        print(json.dumps((time.perf_counter() - self.begun) / self.count), file=self.out, flush=True)
        for line in sys.stdin:
            if line.startswith("pin"):
                os.sched_setaffinity(0, {int(line.split()[1])})
                continue
            self.count = self.left = int(line)
            self.begun = time.perf_counter()
            return
        raise SystemExit


def main() -> None:
    script = Path(sys.argv[1]).resolve()
    pace = Pace(sys.stdout)
    sys.stdout = sys.stderr
    batches_of, item_of = DataLoader.__iter__, queue.Queue.get

    def batches(loader: DataLoader[Any]) -> Iterator[Any]:
        kept = [batch for batch, _ in zip(batches_of(loader), range(_KEPT))]
        while True:
            for batch in kept:
                pace.step()
                yield batch

    items: dict[int, Any] = {}

    def item(waiting: queue.Queue[Any], *args: Any, **kwargs: Any) -> Any:
        if id(waiting) not in items:
            items[id(waiting)] = item_of(waiting, *args, **kwargs)
        pace.step()
        return items[id(waiting)]

    DataLoader.__iter__ = batches  # type: ignore[method-assign, assignment]
    queue.Queue.get = item  # type: ignore[method-assign]
    torch.manual_seed(0)
    sys.argv = [str(script)]
    sys.path.insert(0, str(script.parent))
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main()
