"""The thread pool that generated code runs on: the OpenMP runtime that torch has already loaded.

Sharing it means that `torch.set_num_threads` holds for us too, and that no second pool spins beside torch's.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Pool:
    """Addresses of the functions that a team of threads needs: who starts it, who one is in it, how one lets others go
    first."""

    path: str
    parallel: int
    thread_num: int
    num_threads: int
    give_way: int


@functools.cache
def pool() -> Pool | None:
    """torch's own libgomp; None where there is none (programs then run on one thread)."""
    for path in (*_loaded(), *_bundled()):
        try:
            library = ctypes.CDLL(path)
            functions = [
                getattr(library, name) for name in ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
            ]
            functions.append(ctypes.CDLL(None).sched_yield)
            addresses = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]
        except (OSError, AttributeError):
            continue
        return Pool(path, *addresses)
    return None


def _loaded() -> list[str]:
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []
    found = [line.split(maxsplit=5)[-1] for line in lines if "gomp" in line]
    return list(dict.fromkeys(path for path in found if Path(path).name.startswith("libgomp")))


def _bundled() -> list[str]:
    return [str(path) for path in sorted((Path(torch.__file__).parent / "lib").glob("libgomp*"))]
