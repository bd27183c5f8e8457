"""Strop's single operators beside the best that PyTorch and oneDNN have for each: `strop bench --ops`.

Two ratios per shape, from one interleaved run. *Alone*: every contender works in the layout that it likes best, with
packed weights, and conversions are left out on both sides, as they would be inside a network. *As called*: row-major
tensors in, row-major tensors out, conversions included. Times are of the calling thread's own clock where there is one
thread, so that a busy machine does not blur them.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from strop.bench.library_paths import Path as LibraryPath
from strop.bench.library_paths import library_paths
from strop.bench.report import geometric_mean
from strop.bench.shapes import FAMILIES, OPERATORS, MeasuredOperator
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.driver import pipeline
from strop.driver.artifact import Artifact
from strop.driver.pipeline import Stages
from strop.graph.ir import Graph
from strop.loops.calls import Call
from strop.loops.passes.layouts import BORDER_COPY
from strop.runtime import compile_model
from strop.runtime.packed import Sharing
from strop.runtime.profile import TimedProgram
from strop.runtime.program import NativeProgram
from strop.runtime.thread_count import usable_threads

TOLERANCE = 1e-4
#: a turn lasts at least so long, and so many calls
_TURN_SECONDS = 0.004
_TURN_CALLS = 2


class Pair:
    """One program twice: as it runs, and with every nest timed alone."""

    def __init__(self, stages: Stages, compiled: Artifact, options: Options) -> None:
        self.stages = stages
        self.real = NativeProgram(compiled, options)
        separate = pipeline.generate(stages, pipeline.target_for(options), Journal(), separate=True)
        self.timed = TimedProgram(separate, options)

    def bind(self, params: Sequence[Tensor], sharing: Sharing | None = None) -> None:
        self.real.bind(params, sharing)
        self.timed.bind(params, sharing)

    def __call__(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return self.real(inputs)

    def inside(self, inputs: Sequence[Tensor]) -> float:
        """The share of the time that is not spent on tensors that cross the border of the program."""
        border = [isinstance(step, Call) and step.source.note == BORDER_COPY for step in self.stages.plan.steps]
        if not any(border):
            return 1.0
        self.timed.forget()
        for _ in range(3):
            self.timed(inputs)
        idle = statistics.median(self.timed.idle)
        taken = [max(statistics.median(t) - idle, 0.0) for t in self.timed.nanoseconds]
        return sum(t for t, out in zip(taken, border) if not out) / (sum(taken) or 1.0)


@dataclass
class Measured:
    """One operator: microseconds of everybody, medians over rounds once it is settled."""

    operator: MeasuredOperator
    gflop: float = 0.0
    error: str = ""
    difference: float = 0.0
    rounds: dict[str, list[float]] = field(default_factory=dict)
    inside: list[float] = field(default_factory=list)

    def microseconds(self, name: str) -> float | None:
        taken = self.rounds.get(name)
        return statistics.median(taken) if taken else None

    @property
    def alone(self) -> float | None:
        """Strop's call without what crosses the border."""
        whole = self.microseconds("strop")
        return whole * statistics.median(self.inside) if whole is not None else None

    def best(self, *, called: bool) -> tuple[str, float] | None:
        """The fastest library path; `called` leaves those that need a layout of their own out."""
        found = [
            (name, taken)
            for name in self.rounds
            if name != "strop" and (taken := self.microseconds(name)) is not None and (plain(name) or not called)
        ]
        return min(found, key=lambda pair: pair[1], default=None)

    def ratio(self, *, called: bool) -> float | None:
        ours, peer = (self.microseconds("strop") if called else self.alone), self.best(called=called)
        return peer[1] / ours if ours and peer and not self.error else None

    def to_json(self) -> dict[str, Any]:
        return {
            "operator": str(self.operator),
            "family": self.operator.family,
            "gflop": self.gflop,
            "strop_us": self.microseconds("strop"),
            "strop_alone_us": self.alone,
            "library_us": {name: self.microseconds(name) for name in self.rounds if name != "strop"},
            "ratio_alone": self.ratio(called=False),
            "ratio_called": self.ratio(called=True),
            "max_rel_error": self.difference,
            "error": self.error,
        }


def plain(path: str) -> bool:
    """Whether a path takes and returns row-major tensors."""
    return path.startswith(("eager", "packed"))


def measure(operator: MeasuredOperator, threads: int, rounds: int) -> Measured:
    """Everybody in turns, `rounds` times."""
    found = Measured(operator, operator.gflop)
    torch.manual_seed(0)
    module, inputs = operator.build()
    clock = time.thread_time_ns if threads == 1 else time.perf_counter_ns
    with torch.no_grad():
        expected = module(*inputs)
        try:
            fast, pair = compiled(module, inputs, threads)
        except Problem as problem:
            found.error = f"{problem.code}: {problem.message}"
            return found
        found.difference = difference(fast(*inputs), expected)
        calls: dict[str, Callable[[], Any]] = {"strop": lambda: fast(*inputs)}
        for path in library_paths(module, inputs):
            if agrees(path, expected):
                calls[path.name] = path.call
        for number in range(rounds):
            order = list(calls)
            for name in order[number % len(order) :] + order[: number % len(order)]:
                found.rounds.setdefault(name, []).append(turn(calls[name], clock))
            found.inside.append(pair.inside(inputs))
    return found


def compiled(module: nn.Module, inputs: tuple[Tensor, ...], threads: int) -> tuple[nn.Module, Pair]:
    """The module that `strop.compile` returns, and its program, whole: strips would do copies at the border along."""
    options = Options.from_environment(cache=False, threads=threads, strips=False)
    made: list[Pair] = []

    def build(graph: Graph, options: Options, journal: Journal, threads: int) -> Pair:
        kept: list[Stages] = []
        program = pipeline.compile_graph(graph, options, journal, usable_threads(threads, journal), kept.append)
        made.append(Pair(kept[0], program, options))
        return made[-1]

    return compile_model.compile(module, inputs, options=options, build=build), made[0]


def agrees(path: LibraryPath, expected: Tensor) -> bool:
    """Whether a path exists here and computes the same; what does not is left out of the comparison."""
    try:
        return difference(path.call(), expected) <= TOLERANCE
    except (RuntimeError, NotImplementedError):
        return False


def difference(got: Tensor, expected: Tensor) -> float:
    """The largest difference, relative to the scale of what is expected."""
    dense = got.to_dense() if got.is_mkldnn else got
    if dense.shape != expected.shape:
        return math.inf
    return float((dense - expected).abs().max() / expected.abs().max().clamp_min(1e-20))


def turn(call: Callable[[], Any], clock: Callable[[], int]) -> float:
    """Microseconds per call, the median of some in a row after one that warms up."""
    call()
    taken: list[int] = []
    end = time.perf_counter() + _TURN_SECONDS
    while len(taken) < _TURN_CALLS or time.perf_counter() < end:
        start = clock()
        call()
        taken.append(clock() - start)
    return statistics.median(taken) / 1e3


# ---- for people ------------------------------------------------------------------------------------------------------


def chosen(wanted: Sequence[str]) -> list[MeasuredOperator]:
    """Operators whose family or text contains one of the words; all without any."""
    found = [o for o in OPERATORS if not wanted or any(w == o.family or w in str(o) for w in wanted)]
    if not found:
        raise Problem("STR001", f"no operator matches `{' '.join(wanted)}`", help=f"families: {', '.join(FAMILIES)}")
    return found


def main(
    wanted: Sequence[str] = (),
    *,
    threads: int = 1,
    rounds: int = 10,
    json_path: str | None = None,
    quiet: bool = False,
) -> int:
    """Measure and print; 0 when every operator ran and agreed with eager, else 1."""
    from strop.target.peak import measure_peak

    operators = chosen(wanted)
    torch.set_num_threads(threads)
    peak = measure_peak(threads)
    messages = Console(stderr=True, quiet=quiet)
    console = Console(stderr=json_path == "-", quiet=quiet)
    if not console.is_terminal:
        console.width = 160
    found: list[Measured] = []
    with messages.status("starting") as status:
        for number, operator in enumerate(operators):
            status.update(f"{number + 1} of {len(operators)}: {operator}")
            found.append(measure(operator, threads, rounds))
    console.print(table(found, peak, threads))
    console.print(summary(found))
    if json_path is not None:
        _write(json_path, found, threads, peak)
    return 0 if all(not one.error and one.difference <= TOLERANCE for one in found) else 1


def table(found: Sequence[Measured], peak: float, threads: int) -> Table:
    plural = "s" if threads > 1 else ""
    made = Table(title=f"single operators, {threads} thread{plural}, peak {peak:.0f} GFLOP/s", title_justify="left")
    made.add_column("operator")
    for heading in ("MFLOP", "strop µs", "of peak", "best library path", "µs", "alone ×", "called µs", "called ×"):
        made.add_column(heading, justify="right")
    for family in FAMILIES:
        for one in (one for one in found if one.operator.family == family):
            made.add_row(*_cells(one, peak))
        made.add_section()
    return made


def _cells(one: Measured, peak: float) -> Iterator[str]:
    yield str(one.operator)
    yield f"{1e3 * one.gflop:.1f}"
    if one.error or one.alone is None:
        yield f"[red]{one.error}[/]"
        return
    peer = one.best(called=False)
    yield f"{one.alone:.1f}"
    yield f"{one.gflop / one.alone * 1e6 / peak:.0%}"
    yield from (peer[0], f"{peer[1]:.1f}") if peer else ("–", "–")
    yield _ratio(one.ratio(called=False))
    yield f"{one.microseconds('strop') or 0:.1f}"
    yield _ratio(one.ratio(called=True))


def _ratio(value: float | None) -> str:
    if value is None:
        return "–"
    return f"[red]{value:.2f}[/]" if value < 1 else f"{value:.2f}"


def summary(found: Sequence[Measured]) -> Table:
    made = Table(title="geometric means over the best library path", title_justify="left")
    made.add_column("family")
    for heading in ("operators", "alone ×", "worst", "called ×", "worst"):
        made.add_column(heading, justify="right")
    for family in (*FAMILIES, ""):
        of = [one for one in found if not family or one.operator.family == family]
        if not of:
            continue
        if not family:
            made.add_section()
        made.add_row(family or "all", str(len(of)), *_means(of, called=False), *_means(of, called=True))
    return made


def _means(found: Sequence[Measured], *, called: bool) -> tuple[str, str]:
    ratios = [r for one in found if (r := one.ratio(called=called)) is not None]
    return _ratio(geometric_mean(ratios)), _ratio(min(ratios, default=None))


def _write(path: str, found: Sequence[Measured], threads: int, peak: float) -> None:
    from strop.bench.harness import machine

    means = {
        name: geometric_mean([r for one in found if (r := one.ratio(called=called)) is not None])
        for name, called in (("alone", False), ("called", True))
    }
    told = {"machine": machine(threads, peak), "geometric_means": means, "operators": [one.to_json() for one in found]}
    text = json.dumps(told, indent=2) + "\n"
    if path == "-":
        sys.stdout.write(text)
    else:
        Path(path).write_text(text)
