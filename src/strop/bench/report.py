"""What a benchmark found: rows, the JSON document, tables for people."""

from __future__ import annotations

import json
import math
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

_WIDTH_OF_FILES = 160
#: Strop at default settings, with nothing but direct sums, and with every fast algorithm
NUMERICS = ("strop", "strop-exact", "strop-fast")
_KEYS = (
    "model",
    "threads",
    "contender",
    "median_ms",
    "min_ms",
    "compile_s",
    "peak_rss_mb",
    "steady_rss_mb",
    "base_rss_mb",
    "weights_mb",
    "beyond_mb",
    "max_rel_error",
    "gflop",
    "fraction_of_peak",
)


@dataclass
class BenchRow:
    """One contender on one model. `median_ms` is the median of the rounds' medians."""

    model: str
    threads: int
    contender: str
    median_ms: float | None = None
    min_ms: float | None = None
    compile_s: float | None = None
    peak_rss_mb: float | None = None
    steady_rss_mb: float | None = None
    base_rss_mb: float | None = None
    weights_mb: float | None = None
    max_rel_error: float | None = None
    gflop: float | None = None
    fraction_of_peak: float | None = None
    error: str = ""
    rounds_ms: list[float] = field(default_factory=list)

    @property
    def beyond_mb(self) -> float | None:
        """What the process holds between calls beyond its frameworks and the weights."""
        if self.steady_rss_mb is None or self.base_rss_mb is None or self.weights_mb is None:
            return None
        return self.steady_rss_mb - self.base_rss_mb - self.weights_mb

    def settle(self, peak: float) -> None:
        """Draw the sums, once all rounds are over."""
        if not self.rounds_ms:
            return
        self.median_ms = statistics.median(self.rounds_ms)
        if self.gflop is not None:
            self.fraction_of_peak = self.gflop / (self.median_ms / 1e3) / peak

    def to_json(self) -> dict[str, Any]:
        row = {key: _plain(getattr(self, key)) for key in _KEYS}
        return row | {"error": self.error} if self.error else row


class Report:
    """Shows progress and tables as they come, and keeps the JSON document up to date after every model."""

    def __init__(self, *, quiet: bool = False, to_stderr: bool = False, json_path: str | None = None):
        self.console = Console(stderr=to_stderr, quiet=quiet)
        if not self.console.is_terminal:
            self.console.width = _WIDTH_OF_FILES
        self.messages = Console(stderr=True, quiet=quiet)
        self.json_path = json_path
        self.machine: dict[str, Any] = {}
        self.rows: list[BenchRow] = []
        self._status: Status | None = None

    def __enter__(self) -> Report:
        if self.messages.is_terminal:
            self._status = self.messages.status("starting")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()
        if len({row.model for row in self.rows}) > 1:
            self.console.print(summary(self.rows))
        if self.json_path == "-":
            sys.stdout.write(self._document())

    def progress(self, text: str) -> None:
        if self._status:
            self._status.update(text)

    def model(self, rows: list[BenchRow]) -> None:
        """A model is done."""
        self.rows += rows
        self.console.print(details(rows))
        if self.json_path and self.json_path != "-":
            Path(self.json_path).write_text(self._document())

    def _document(self) -> str:
        results = [row.to_json() for row in self.rows]
        return json.dumps({"machine": self.machine, "results": results}, indent=1) + "\n"


def details(rows: list[BenchRow]) -> Table:
    """Everything about one model, a line per contender."""
    first = rows[0]
    gflop = "" if first.gflop is None else f", {first.gflop:.3g} GFLOP"
    plural = "s" if first.threads > 1 else ""
    table = Table(title=f"{first.model}, {first.threads} thread{plural}{gflop}", title_justify="left")
    table.add_column("contender")
    for heading in (
        "median ms",
        "min ms",
        "× eager",
        "of peak",
        "compile s",
        "peak MB",
        "steady MB",
        "beyond MB",
        "error",
    ):
        table.add_column(heading, justify="right")
    for row in rows:
        if row.error:
            table.add_row(row.contender, "[red]failed[/]")
            continue
        ratio = speedup(rows, row)
        table.add_row(
            row.contender,
            _number(row.median_ms, ".3f"),
            _number(row.min_ms, ".3f"),
            _number(ratio, ".2f"),
            _number(row.fraction_of_peak, ".1%"),
            _number(row.compile_s, ".1f"),
            _number(row.peak_rss_mb, ".0f"),
            _number(row.steady_rss_mb, ".0f"),
            _number(row.beyond_mb, ".0f"),
            _number(row.max_rel_error, ".0e"),
        )
    reasons = [f"{row.contender}: {row.error}" for row in rows if row.error]
    table.caption = Text("\n".join(reasons), justify="left") if reasons else None
    return table


def summary(rows: list[BenchRow]) -> Table:
    """A line per model: eager's milliseconds, everybody's speed-up over it, Strop (with each of its numerics that took
    part) against the best of its peers."""
    models = list(dict.fromkeys(row.model for row in rows))
    names = [name for name in dict.fromkeys(row.contender for row in rows) if name != "eager"]
    ours = [name for name in names if name in NUMERICS]
    compared = [f"{name} ÷ best" for name in ours] if len(names) > len(ours) else []
    table = Table(title="speed-up over eager", title_justify="left")
    table.add_column("model")
    for heading in ("eager ms", *names, *(["best peer", *compared] if compared else [])):
        table.add_column(heading, justify="right")
    gathered: dict[str, list[float]] = {name: [] for name in (*names, *compared)}
    for model in models:
        own = {row.contender: row for row in rows if row.model == model}
        cells = [model, _number(own["eager"].median_ms, ".2f")]
        for name in names:
            ratio = speedup(list(own.values()), own[name]) if name in own else None
            cells.append(_number(ratio, ".2f"))
            if ratio is not None:
                gathered[name].append(ratio)
        if compared:
            cells.append(against_best_peer(list(own.values()))[0])
        for name, column in zip(ours, compared):
            ratio = against_best_peer(list(own.values()), name)[1]
            cells.append(_number(ratio, ".2f"))
            if ratio is not None:
                gathered[column].append(ratio)
        table.add_row(*cells)
    table.add_section()
    means = {name: _number(geometric_mean(found), ".2f") for name, found in gathered.items()}
    last = ["", *(means[column] for column in compared)] if compared else []
    table.add_row("geometric mean", "", *(means[name] for name in names), *last)
    return table


def speedup(rows: list[BenchRow], row: BenchRow) -> float | None:
    """How many times faster than eager on the same model."""
    eager = next((other.median_ms for other in rows if other.contender == "eager"), None)
    return eager / row.median_ms if eager and row.median_ms and not row.error else None


def against_best_peer(rows: list[BenchRow], name: str = "strop") -> tuple[str, float | None]:
    """The fastest contender that is not Strop, and how many times faster than it Strop is, under one of its names."""
    peers = [row for row in rows if not row.contender.startswith("strop") and row.median_ms and not row.error]
    ours = next((row.median_ms for row in rows if row.contender == name and not row.error), None)
    if not peers:
        return "", None
    best = min(peers, key=lambda row: row.median_ms or math.inf)
    return best.contender, best.median_ms / ours if ours and best.median_ms else None


def geometric_mean(values: list[float]) -> float | None:
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def _plain(value: Any) -> Any:
    """JSON has no infinity: an error beyond all bounds is written as null beside the row's other numbers."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
