"""LLVM in this process: initialised once, used by one thread at a time, its pages given back after use."""

from __future__ import annotations

import ctypes
import functools
import mmap
import threading
from pathlib import Path

import llvmlite.binding as llvm

lock = threading.Lock()


@functools.cache
def initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    give_pages_back()


def give_pages_back() -> None:
    """Take LLVM's own code out of this process's memory; what is needed of it again comes from the system's cache.

    Loading the library touches 22 MB of it and a compilation 35 MB, which a program that only runs never looks at.
    """
    for start, size in _llvm_code():
        ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), mmap.MADV_DONTNEED)


@functools.cache
def _llvm_code() -> tuple[tuple[int, int], ...]:
    """Where the library's executable pages are. Nothing ever writes to them, so they equal the file."""
    try:
        lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if "libllvmlite" in line]
    except OSError:
        return ()
    spans = [line[0].split("-") for line in lines if line[1] == "r-xp"]
    return tuple((int(start, 16), int(end, 16) - int(start, 16)) for start, end in spans)
