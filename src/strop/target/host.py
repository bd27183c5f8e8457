"""The machine that we run on."""

from __future__ import annotations

import functools
from pathlib import Path

import llvmlite.binding as llvm

from strop.core.cache import Cache
from strop.target.calibrate import kept
from strop.target.description import Target
from strop.target.llvm import initialise


@functools.cache
def host() -> Target:
    """The machine that we run on; with what `strop doctor` has measured, where it has."""
    target = described_host()
    measured = kept(target, Cache())
    return measured.of(target) if measured is not None else target


@functools.cache
def described_host() -> Target:
    """The machine that we run on, as LLVM and the kernel describe it."""
    initialise()
    return Target.from_features(
        llvm.get_host_cpu_name(),
        dict(llvm.get_host_cpu_features()),
        triple=llvm.get_default_triple(),
        **_caches(),
    )


def _caches() -> dict[str, int]:
    """Sizes of the first core's caches, where the kernel tells."""
    found: dict[str, int] = {}
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            level = (index / "level").read_text().strip()
            kind = (index / "type").read_text().strip()
            size = (index / "size").read_text().strip()
        except OSError:
            continue
        if kind != "Instruction" and size.endswith("K"):
            found[f"l{level}"] = int(size[:-1]) * 1024
    return {level: size for level, size in found.items() if level in ("l1", "l2", "l3")}
