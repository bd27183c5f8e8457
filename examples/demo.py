"""Compile ResNet-18, check its outputs, compare its speed with eager, and show where the time goes.

python examples/demo.py [network of the zoo, or package.module:factory] [--threads N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

import strop
from strop import zoo
from strop.runtime.load_model import load
from strop.verify.numeric import close, max_rel_error

ROUNDS = 30
FEWEST_ROUNDS = 5
WARM_UP = 3
SECONDS = 15.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="resnet18", help=f"one of: {', '.join(zoo.NAMES)}")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    loaded = load(given.model)
    model, inputs, kwargs = loaded.module, loaded.inputs, loaded.kwargs

    print(f"compiling {given.model} for {given.threads} threads …", flush=True)
    session = strop.Session(model, inputs, kwargs)
    summary = session.summary()
    fast = session.module
    with torch.no_grad():
        expected, actual = model(*inputs, **kwargs), fast(*inputs, **kwargs)
        verdict = close(actual, expected)
        eager_ms, strop_ms = interleaved(lambda: model(*inputs, **kwargs), lambda: fast(*inputs, **kwargs))

    steps = ", ".join(f"{name} {seconds:.1f}" for name, seconds in summary["step_seconds"].items() if seconds >= 0.05)
    source = "from the cache" if summary["cache_hit"] else f"seconds: {steps}"
    library = ", ".join(f"{count} × {name}" for name, count in summary["library_nodes"].items())
    print(f"compiled in {summary['compile_seconds']:.1f} s ({source})\n")
    print(f"  eager    {eager_ms:8.2f} ms")
    print(f"  strop    {strop_ms:8.2f} ms   {eager_ms / strop_ms:.2f}× as fast")
    outcome = "equal" if verdict else f"DIFFERENT: {verdict.why}"
    print(f"  outputs  {outcome} (largest difference {max_rel_error(actual, expected):.1e} of the output's scale)")
    print(f"  nodes    {summary['nodes']} operators became {summary['nests']} loop nests")
    print(f"  library  {library or 'nothing: every operator was compiled'}")
    print(
        f"  memory   {megabytes(summary['arena_bytes'])} for intermediate tensors "
        f"({megabytes(summary['arena_without_reuse_bytes'])} without reuse), "
        f"{megabytes(summary['packed_bytes'])} of packed weights, {megabytes(summary['code_bytes'])} of code\n"
    )
    if busy():
        print("other programs are using this machine: take the times with care\n")
    print("where the time goes (each nest timed alone, in order):")
    print(session.profile(ROUNDS).table(15))
    print(f"\n`strop compile {given.model} --explain` says what was done and why, `--nests` shows every loop nest")
    return 0 if verdict else 1


def interleaved(*calls: Callable[[], Any]) -> list[float]:
    """The median time of each call in milliseconds; they take turns, so that a slow moment falls on all alike."""
    times: list[list[float]] = [[] for _ in calls]
    begin = time.perf_counter()
    for number in range(ROUNDS + WARM_UP):
        if number >= FEWEST_ROUNDS + WARM_UP and time.perf_counter() - begin > SECONDS:
            break
        for call, taken in zip(calls, times):
            call()  # the caches and the thread pool become this contender's own
            start = time.perf_counter()
            call()
            if number >= WARM_UP:
                taken.append((time.perf_counter() - start) * 1e3)
    return [statistics.median(taken) for taken in times]


def busy() -> bool:
    """Whether more programs want a core than there are cores."""
    return hasattr(os, "getloadavg") and os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1)


def megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"


if __name__ == "__main__":
    sys.exit(main())
