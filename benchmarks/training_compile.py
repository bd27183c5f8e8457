"""Compile time of a training step, cold: inductor and Strop, each in a process of its own with an empty cache.

    python benchmarks/training_compile.py                    # a table of all networks
    python benchmarks/training_compile.py mlp unet --threads 2

What is timed is the first step (forward, loss, backward) less the second one: tracing, planning, code, and inductor's
C++ compilers. inductor compiles without its pool of processes (`TORCHINDUCTOR_COMPILE_THREADS=1`), so that seconds of
the processor hold all that either takes; `wall` is the clock, which says something on a quiet machine only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from typing import Any

import torch
from training_networks import NETWORKS, network

from strop.runtime.trainer import allowing_recurrence

CONTENDERS = ("inductor", "strop")


def used() -> tuple[float, float]:
    """Seconds of the processor of this process and of those that it has waited for, and of the clock."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system, time.perf_counter()


def compile_once(name: str, kind: str, threads: int) -> tuple[float, float]:
    torch.set_num_threads(threads)
    training = network(name)
    forward: Any = torch.compile(training.model, backend=kind)
    taken = []
    for _ in range(2):
        processor, wall = used()
        with allowing_recurrence() if kind == "strop" else nullcontext():
            training.loss(forward(*training.inputs)).backward()
        after = used()
        taken.append((after[0] - processor, after[1] - wall))
    return taken[0][0] - taken[1][0], taken[0][1] - taken[1][1]


def in_fresh_process(name: str, kind: str, threads: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as cache:
        own = {"TORCHINDUCTOR_CACHE_DIR": cache, "TORCHINDUCTOR_COMPILE_THREADS": "1", "STROP_CACHE": cache}
        environment = {**os.environ, **own}
        command = [sys.executable, __file__, name, "--only", kind, "--threads", str(threads)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        processor, wall = json.loads(done.stdout.splitlines()[-1])
        return processor, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=[], help=f"of {', '.join(NETWORKS)}; all unless given")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=CONTENDERS, help="this one, in this process, with its caches")
    given = parser.parse_args()
    if given.only:
        print(json.dumps(compile_once(given.networks[0], given.only, given.threads)))
        return
    print("| network | " + " | ".join(f"{kind}, CPU s | wall" for kind in CONTENDERS) + " |")
    print("| --- |" + " ---: | ---: |" * len(CONTENDERS))
    for name in given.networks or list(NETWORKS):
        figures = [in_fresh_process(name, kind, given.threads) for kind in CONTENDERS]
        print(f"| {name} | " + " | ".join(f"{cpu:.1f} | {wall:.1f}" for cpu, wall in figures) + " |", flush=True)


if __name__ == "__main__":
    main()
