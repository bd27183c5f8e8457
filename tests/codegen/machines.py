"""Machines whose plans this one can run: narrower ones as they are, all others emulated (`NAME@host`)."""

from __future__ import annotations

from strop.driver.pipeline import EMULATED
from strop.target import host
from strop.target.description import TARGETS


def runnable(name: str) -> str:
    """The option that makes the host run the plan of a shipped description."""
    return name if TARGETS[name].runs_on(host.described_host()) else name + EMULATED
