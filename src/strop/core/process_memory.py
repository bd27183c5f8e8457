"""The memory of this process as the system sees it."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path


def resident_mb() -> float | None:
    """What this process holds now; None where the system does not tell."""
    return _status("VmRSS")


def peak_rss_mb() -> float:
    """The most that this process ever held, from the kernel's own mark: getrusage's survives exec from the parent."""
    found = _status("VmHWM")
    if found is not None:
        return found
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def trim() -> None:
    """Have the allocator give free memory back to the system, where it can."""
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back is not None:
        give_back(0)


def _status(entry: str) -> float | None:
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split(f"{entry}:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        return None


def physical_bytes() -> int | None:
    """The memory of the machine; None where it does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
