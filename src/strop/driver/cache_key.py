"""Under which key a program is stored."""

from __future__ import annotations

import functools
import hashlib
import platform
from importlib.metadata import version
from pathlib import Path

from strop.core.extensions import registry
from strop.core.options import Options
from strop.graph.ir import Graph
from strop.schedule.tuned import tuned_schedules
from strop.target.description import Target


def cache_key(graph: Graph, target: Target, options: Options, threads: int) -> str:
    """A hash of everything that the code depends on, schedules that were tuned for the machine included; parameter
    values and names are not among it."""
    tuned = tuned_schedules(target, threads, options.pack) if options.tuned else {}
    parts = (graph.key, target.key, options.code_key, threads, fingerprint(), registry.key(), sorted(tuned.items()))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@functools.cache
def fingerprint() -> str:
    """Versions of what makes the code, our own sources included."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    versions = (version("llvmlite"), version("torch"), platform.python_version())
    return f"{digest.hexdigest()} {versions}"
