"""Machines whose plans this one can run: narrower ones as they are, all others emulated (`NAME@host`)."""

from __future__ import annotations

from strop.core.target import TARGETS
from strop.run import jit
from strop.run.pipeline import EMULATED


def runnable(name: str) -> str:
    """The option that makes the host run the plan of a shipped description."""
    return name if TARGETS[name].runs_on(jit.described_host()) else name + EMULATED
