"""What the sweep over PyTorch's operators counts, told at the end of a run, however many processes ran it.

`pytest --update-golden tests/codegen/test_opinfo.py` also writes it to docs/opinfo-sweep.json, for docs/operators.md.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import golden
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "opinfo-sweep.json"


class Tally:
    """Samples that ran natively and equalled eager, by operator and dtype; those of gradients by operator."""

    def __init__(self) -> None:
        self.samples: Counter[tuple[str, str]] = Counter()
        self.gradients: Counter[str] = Counter()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["opinfo"] = [(*key, count) for key, count in self.samples.items()]
            output["opinfo gradients"] = dict(self.gradients)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        for name, dtype, count in getattr(node, "workeroutput", {}).get("opinfo", ()):
            self.samples[name, dtype] += count
        self.gradients.update(getattr(node, "workeroutput", {}).get("opinfo gradients", {}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        if self.gradients:
            told = f"{len(self.gradients)} operators, {self.gradients.total()} samples"
            terminalreporter.write_line(f"opinfo gradients: {told}")
        if not self.samples:
            return
        found = self.counts()
        told = ", ".join(f"{count} {dtype}" for dtype, count in found["dtypes"].items())
        terminalreporter.write_line(f"opinfo: {found['operators']} operators, {found['samples']} samples ({told})")
        whole = len((golden.HOME / "codegen" / "opinfo.txt").read_text().splitlines())
        if golden.Refresh.wanted and found["operators"] == whole and not hasattr(config, "workerinput"):
            PAGE.write_text(json.dumps(found) + "\n", encoding="utf-8")

    def counts(self) -> dict[str, Any]:
        dtypes: Counter[str] = Counter()
        for (_, dtype), count in self.samples.items():
            dtypes[dtype] += count
        operators = {name for name, _ in self.samples}
        return {"operators": len(operators), "samples": dtypes.total(), "dtypes": dict(sorted(dtypes.items()))}
