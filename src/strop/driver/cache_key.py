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
from strop.target.description import Target


def cache_key(graph: Graph, target: Target, options: Options, threads: int) -> str:
    """A hash of everything that the code depends on; parameter values are not among it.

    Names are not either, as programs hold none; only a measured one does, which is stored with its schedules.
    """
    names = graph.names_key if options.measure else ""
    parts = (graph.key, names, target.key, options.code_key, threads, fingerprint(), registry.key())
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
