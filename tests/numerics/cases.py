"""What the judges of accuracy count: cases, and the worst error of each family, told at the end of a run.

`pytest --update-golden tests/numerics` also writes the table to docs/numerics-measured.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import golden
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "numerics-measured.md"
HEAD = """# Measured errors

Written by `pytest --update-golden tests/numerics`. Inputs are drawn at random, with scales of rows, columns, samples and
channels that lie many orders of magnitude apart. An error is counted in units of 2⁻²⁴ times the sum of the absolute
values of the terms of its element: `|y - exact| / (2⁻²⁴ Σ|terms|)`. The columns show the worst element of all cases.

| family | cases | PyTorch eager | Strop |
| --- | ---: | ---: | ---: |
"""


class Cases:
    """Inputs that were judged, by family: how many, and the worst error of eager and of Strop."""

    def __init__(self) -> None:
        self.families: dict[str, tuple[int, float, float]] = {}

    def add(self, family: str, eager: float = 0.0, strop: float = 0.0, count: int = 1) -> None:
        before, worst_eager, worst_strop = self.families.get(family, (0, 0.0, 0.0))
        self.families[family] = (before + count, max(worst_eager, eager), max(worst_strop, strop))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["numerics"] = [(family, *found) for family, found in self.families.items()]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        for family, count, eager, strop in getattr(node, "workeroutput", {}).get("numerics", ()):
            self.add(family, eager, strop, count)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        if not self.families:
            return
        count = sum(found[0] for found in self.families.values())
        terminalreporter.write_line(f"numerics: {count} cases, {len(self.families)} families")
        if golden.Refresh.wanted and not hasattr(config, "workerinput"):
            rows = (
                f"| {family} | {n} | {_short(e)} | {_short(s)} |" for family, (n, e, s) in sorted(self.families.items())
            )
            PAGE.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")


def _short(units: float) -> str:
    return f"{units:.1f}" if units < 1000 else f"{units:.1e}"
