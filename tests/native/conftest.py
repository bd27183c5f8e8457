"""What the sweep over PyTorch's operators counts, told at the end of a run."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest


@dataclass
class Tally:
    """Operators of which every chosen sample ran natively, and how many samples that were."""

    operators: set[str] = field(default_factory=set)
    samples: int = 0


_TALLY = pytest.StashKey[Tally]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_TALLY] = Tally()


@pytest.fixture(scope="session")
def tally(request: pytest.FixtureRequest) -> Tally:
    return request.config.stash[_TALLY]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    found = config.stash[_TALLY]
    if found.samples:
        terminalreporter.write_line(f"opinfo: {len(found.operators)} operators native, {found.samples} samples")
