"""The part of docs/scan.md that says what proposals gain, from the figures that `benchmarks/proposals.py` kept."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

Table = Callable[[tuple[str, ...], list[tuple[str, ...]]], str]

_LEVELS = {"pytorch": "PyTorch", "strop": "with Strop"}


def parts(docs: Path, table: Table) -> list[str]:
    rows = json.loads((docs / "proposals.json").read_text(encoding="utf-8"))
    return [
        "## What proposals gain",
        """
        `make bench-proposals` writes everything that is proposed into copies of the projects in `benchmarks/projects`,
        which train or serve models as people write such scripts, and times their steps in turns with the project as
        it was, on one thread. *With Strop* is what `--with-strop` allows: Strop's backend. *Noise* is how far two
        copies of the project as it was differ, where it was measured.
        Compiling happens in the first step, not where a model is made; the start of a script grows by the import of the
        compiler.
        """,
        *_said(rows),
        *_earlier(rows),
        table(("project", "model", "step", "proposed for", "edits", "ms", "gain", "noise", "first step, s", "start, s"),
              [cells for name, row in rows.items() for cells in _cells(name, row)]),
    ]  # fmt: skip


def _said(rows: dict[str, Any]) -> list[str]:
    found = []
    for level, words in _LEVELS.items():
        told = [row[level] for row in rows.values() if level in row]
        gains = [one["speedup"] for one in told if "speedup" in one]
        if gains:
            median, least = statistics.median(gains), min(gains)
            found.append(
                f"{words}: something is proposed for {len(gains)} of {len(told)} projects, median {median:.2f}×, "
                f"least {least:.2f}×."
            )
    return found


def _earlier(rows: dict[str, Any]) -> list[str]:
    """Which rows an earlier version of the rules gave, where its graphs take minutes to compile."""
    names = [f"`{name}`" for name, row in rows.items() if row.get("earlier")]
    return [f"Measured before the last change of the rules: {', '.join(names)}."] if names else []


def _cells(name: str, row: dict[str, Any]) -> list[tuple[str, ...]]:
    found = []
    for level, words in _LEVELS.items():
        one = row.get(level)
        if one is None:
            continue
        head = (f"`{name}`", row["model"], row["kind"], words)
        if "speedup" not in one:
            found.append((*head, "none", "", "", "", "", ""))
            continue
        edits = ", ".join(code if count == 1 else f"{count} {code}" for code, count in one["edits"].items())
        step = f"{one['before_ms']:.1f} → {one['after_ms']:.1f}"
        first, start = (" → ".join(f"{seconds:.1f}" for seconds in one[key]) for key in ("first_s", "start_s"))
        noise = f"{row['noise']:.1%}" if "noise" in row else ""
        found.append((*head, edits, step, f"{one['speedup']:.2f}×", noise, first, start))
    return found
