"""Schedules out of the tuning database: under which key a nest is found, and which of them a compilation may use."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from strop.core.extensions import registry
from strop.core.journal import Journal
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.core.tuning_database import TuningDatabase
from strop.core.version import __version__
from strop.loops.ir import Nest
from strop.target.description import Target

_DECIDING = ("loops", "codegen", "cost", "schedule")  # packages that schedules and their code depend on

Passes = tuple[Pass, ...]


def nest_digest(canonical: Nest) -> str:
    """A nest with canonical names, before any pass of its schedule."""
    return hashlib.sha256(repr(canonical).encode()).hexdigest()


def target_digest(target: Target) -> str:
    """Everything that plans and code for a machine depend on."""
    return hashlib.sha256(target.key.encode()).hexdigest()


def tuning_version() -> str:
    """Of what makes schedules and code: records of another one may be slower than its default, and are not used."""
    return f"{__version__}-{_sources()[:16]}-{hashlib.sha256(repr(registry.key()).encode()).hexdigest()[:8]}"


@functools.cache
def _sources() -> str:
    digest = hashlib.sha256(version("llvmlite").encode())
    root = Path(__file__).parents[1]
    for path in sorted(path for name in _DECIDING for path in (root / name).rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def tuned_schedules(target: Target, threads: int, pack: bool) -> Mapping[str, str]:
    """The text of the schedules that were tuned for this machine, by the digest of their nests. A database that cannot
    be read is as good as none, after a warning."""
    try:
        return TuningDatabase().passes(target_digest(target), tuning_version(), threads, pack)
    except Problem as problem:
        Journal().warn("cache", "tuning", f"{problem.message}; going on with default schedules [{problem.code}]")
        return {}


def parsed(text: str) -> Passes | None:
    """The passes of a record; none where they are not known here."""
    try:
        return tuple(Pass.parse_all(text))
    except Problem:
        return None
