"""From a kernel's nests to something callable, one program per shape and number of threads, kept on disk as usual."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import torch

from strop.core.cache import Cache
from strop.core.journal import Journal
from strop.core.options import Options
from strop.driver import cache_key, pipeline
from strop.driver.artifact import Artifact
from strop.driver.artifact_format import to_bytes
from strop.kernels.nests import KERNELS
from strop.runtime import thread_count
from strop.runtime.program import NativeProgram

#: shapes of one kernel that are compiled in a process; later ones are computed by PyTorch's operators
MAX_SHAPES = 64

_programs: dict[tuple[Any, ...], NativeProgram | None] = {}
_counts: dict[str, int] = {}
_lock = threading.Lock()


def program(name: str, *numbers: Any, threads: int = 0) -> NativeProgram | None:
    """The native code of a kernel for these sizes and threads (as many as torch uses); None where there is none to be
    had."""
    key = (name, threads or torch.get_num_threads(), *numbers)
    try:
        return _programs[key]
    except KeyError:
        pass
    with _lock:
        if key not in _programs:
            _programs[key] = _made(name, key[1], numbers)
        return _programs[key]


def _made(name: str, threads: int, numbers: tuple[Any, ...]) -> NativeProgram | None:
    _counts[name] = _counts.get(name, 0) + 1
    options, journal = Options.from_environment(), Journal()
    if _counts[name] > MAX_SHAPES:
        told = f"{MAX_SHAPES} shapes are compiled already: PyTorch's operators compute the others"
        journal.warn("fallback", name, told)
        return None
    try:
        return NativeProgram(_compiled(name, threads, numbers, options, journal), options)
    except Exception as error:  # a machine that LLVM does not know, no memory for code: PyTorch still can
        journal.warn("fallback", name, f"no native code: {error}")
        return None


def _compiled(name: str, threads: int, numbers: tuple[Any, ...], options: Options, journal: Journal) -> Artifact:
    target = pipeline.target_for(options)
    threads = thread_count.usable_threads(threads, journal)
    parts = ("kernel", name, numbers, target.key, options.code_key, threads, cache_key.fingerprint())
    key = hashlib.sha256(repr(parts).encode()).hexdigest()
    cache = Cache(journal=journal) if options.cache else None
    stored = pipeline.stored(cache, key) if cache is not None and not options.check else None
    if stored is not None:
        return stored
    lowered = KERNELS[name](*numbers)
    stages = pipeline.plan_nests(lowered, target, options, journal, threads)
    compiled = pipeline.generate(stages, target, journal)
    if cache is not None:
        cache.put(key, to_bytes(compiled))
    return compiled
