"""The thread pool that generated code runs on: the OpenMP runtime that torch has already loaded.

Sharing it means that `torch.set_num_threads` holds for us too, and that no second pool spins beside torch's.

A forked process has the pool's data but none of its threads: starting a team there would wait forever. So once a pool
was asked for, processes forked from this one run on one thread: torch is told so, and generated code, which does all
shares of a team of one, gets a function that starts nobody (`_start_nobody`).
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
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


_forked = False
_in_child: list[Callable[[], None]] = []


def pool() -> Pool | None:
    """torch's own libgomp; None where there is none (programs then run on one thread)."""
    found = _found()
    return replace(found, parallel=_address(_start_nobody())) if found is not None and _forked else found


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_forked() -> bool:
    """Whether this process was forked from one that had a pool."""
    return _forked


def in_child(forget: Callable[[], None]) -> None:
    """Have a function called in forked processes, to let go of what belongs to the pool. It must take no lock: the
    thread that held it may not have come along."""
    _in_child.append(forget)


@functools.cache
def _found() -> Pool | None:
    for path in (*_loaded(), *_bundled()):
        try:
            library = ctypes.CDLL(path)
            functions = [
                getattr(library, name) for name in ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
            ]
            functions.append(ctypes.CDLL(None).sched_yield)
            addresses = [_address(function) for function in functions]
        except (OSError, AttributeError):
            continue
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_without_pool)
        return Pool(path, *addresses)
    return None


def _without_pool() -> None:
    global _forked
    _forked = True
    torch.set_num_threads(1)
    for forget in _in_child:
        forget()


@functools.cache
def _start_nobody() -> Callable[..., None]:
    """In place of GOMP_parallel: the caller is the whole team."""
    member = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    def start(function: int, given: int, threads: int, flags: int) -> None:
        member(function)(given)

    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)(start)


def _address(function: Callable[..., object]) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _loaded() -> list[str]:
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []
    found = [line.split(maxsplit=5)[-1] for line in lines if "gomp" in line]
    return list(dict.fromkeys(path for path in found if Path(path).name.startswith("libgomp")))


def _bundled() -> list[str]:
    return [str(path) for path in sorted((Path(torch.__file__).parent / "lib").glob("libgomp*"))]
