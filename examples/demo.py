"""Compile ResNet-18, check its outputs, compare its speed with eager, and show where the compile time went.

python examples/demo.py [network of the zoo] [--threads N]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

import strop
from strop.core.journal import Journal
from strop.run import zoo
from strop.run.check import close, max_rel_error

ROUNDS = 30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="resnet18", help=f"one of: {', '.join(zoo.NAMES)}")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    console = Console(highlight=False)
    model, inputs = zoo.load(given.model)

    journal = Journal()
    with console.status(f"compiling {given.model}"), torch.no_grad():
        start = time.perf_counter()
        fast = strop.compile(model, inputs, journal=journal)
        fast(*inputs)
        seconds = time.perf_counter() - start
        expected, actual = model(*inputs), fast(*inputs)
    verdict = close(actual, expected)
    error = max_rel_error(actual, expected)

    with console.status("measuring"), torch.no_grad():
        eager_ms, strop_ms = interleaved(lambda: model(*inputs), lambda: fast(*inputs))

    console.print(f"[bold]{given.model}[/bold], {given.threads} threads, compiled in {seconds:.1f} s")
    console.print(f"  eager   {eager_ms:8.2f} ms")
    console.print(f"  strop   {strop_ms:8.2f} ms   [bold]{eager_ms / strop_ms:.2f}× as fast[/bold]")
    outcome = "[green]equal[/green]" if verdict else f"[red]different[/red]: {verdict.why}"
    console.print(f"  outputs {outcome} (largest difference {error:.1e} of the output's scale)\n")
    console.print(where_the_time_goes(journal))
    console.print(f"\n{', '.join(f'{count} {kind}' for kind, count in journal.count().items())} in the journal")
    console.print(f"`strop compile {given.model} --explain` prints all of it")
    return 0 if verdict else 1


def interleaved(*calls: Callable[[], Any]) -> list[float]:
    """The median time of each call in milliseconds; they take turns, so that a slow moment falls on all alike."""
    times: list[list[float]] = [[] for _ in calls]
    for number in range(ROUNDS + 3):
        for call, taken in zip(calls, times):
            start = time.perf_counter()
            call()
            if number >= 3:
                taken.append((time.perf_counter() - start) * 1e3)
    return [statistics.median(taken) for taken in times]


def where_the_time_goes(journal: Journal) -> Table:
    table = Table("where the compile time went", "seconds", box=None)
    for event in journal.of("step"):
        table.add_row("  " * event.depth + event.subject, f"{event.seconds or 0.0:.3f}")
    return table


if __name__ == "__main__":
    raise SystemExit(main())
