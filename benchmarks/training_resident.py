"""Resident memory of training steps, as the system counts it: each contender in a process of its own.

    python benchmarks/training_resident.py                       # a table of all networks
    python benchmarks/training_resident.py resnet18 --contenders eager balanced --cold

Steps are forward, loss, backward and `zero_grad`. After three of them the high-water mark of the process (`VmHWM`) is
set back, and read after three more. `steps` is that mark less what was resident before the first step, model and inputs
included; so it holds activations, gradients, and what a compiler leaves behind. `left` is the part of it that stays
after the steps when all of the model's own memory is given back: compiled code, graphs and guards. With `--cold` caches
are empty; or else a first process fills them.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from training_networks import NETWORKS, network

from strop.core.journal import Journal
from strop.core.options import Options
from strop.runtime.dynamo import Backend
from strop.runtime.trainer import allowing_recurrence

CONTENDERS = ("eager", "inductor", "fastest", "balanced")
STEPS = 3
MB = 1e6


def resident(mark: str = "VmRSS") -> int:
    """Bytes of this process that are resident now, or were at most (`VmHWM`)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(mark + ":")) << 10


def trimmed() -> int:
    """What is resident once malloc has given back what it can."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return resident()


def measure(name: str, kind: str, threads: int) -> dict[str, int]:
    torch.set_num_threads(threads)
    training = network(name)
    model = training.model
    forward: Any = model
    if kind == "inductor":
        forward = torch.compile(model)
    elif kind != "eager":
        memory: Any = kind
        forward = torch.compile(model, backend=Backend(Options.from_environment(memory=memory), Journal()))
    before = trimmed()

    def step() -> None:
        training.loss(forward(*training.inputs)).backward()
        model.zero_grad()

    with allowing_recurrence() if kind not in ("eager", "inductor") else nullcontext():
        step()
    compiled = resident("VmHWM")
    for _ in range(STEPS - 1):
        step()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    for _ in range(STEPS):
        step()
    peak = resident("VmHWM")
    return {"first": compiled - before, "steps": peak - before, "after": trimmed() - before}


def in_fresh_process(name: str, kind: str, threads: int, cold: bool) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache, "STROP_CACHE": cache}
        command = [sys.executable, __file__, name, "--only", kind, "--threads", str(threads)]
        for _ in range(1 if cold or kind == "eager" else 2):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=[], help=f"of {', '.join(NETWORKS)}; all unless given")
    parser.add_argument("--contenders", nargs="*", default=CONTENDERS, choices=CONTENDERS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cold", action="store_true", help="with empty caches")
    parser.add_argument("--only", choices=CONTENDERS, help="this one, in this process, with its caches")
    given = parser.parse_args()
    if given.only:
        print(json.dumps(measure(given.networks[0], given.only, given.threads)))
        return
    print("| network, MB | " + " | ".join(f"{kind}: first | steps | after" for kind in given.contenders) + " |")
    print("| --- |" + " ---: | ---: | ---: |" * len(given.contenders))
    for name in given.networks or list(NETWORKS):
        cells = []
        for kind in given.contenders:
            found = in_fresh_process(name, kind, given.threads, given.cold)
            cells.append(" | ".join(f"{found[key] / MB:.1f}" for key in ("first", "steps", "after")))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
