"""What `strop doctor` reports: the machine, what was found on it, and what is missing."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from strop.core.cache import Cache
from strop.core.problem import Problem
from strop.core.version import __version__
from strop.target.description import TARGETS, Target

PEERS = ("onnx", "onnxruntime", "openvino", "onnxscript", "transformers")


def examine(again: bool = False) -> dict[str, dict[str, Any]]:
    """Sections of facts; a value that begins with `missing` is a fault worth a non-zero exit.

    The machine is measured the first time, or `again`; what is found serves the cost model from then on.
    """
    return {
        "strop": {"version": __version__, "python": platform.python_version(), "platform": platform.platform()},
        "machine": _machine(),
        "measured": _measured(again),
        "torch": _torch(),
        "cache": _cache(),
        "extras": {name: _version(name) or "not installed" for name in PEERS},
    }


def _machine() -> dict[str, Any]:
    try:
        import llvmlite.binding as llvm
    except ImportError as error:
        return {"llvm": f"missing: {error}"}
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features()
    facts: dict[str, Any] = {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "llvm": f"{'.'.join(map(str, llvm.llvm_version_info))} (llvmlite {_version('llvmlite')})",
    }
    try:
        target = Target.from_features(cpu, dict(features), triple=llvm.get_process_triple())
    except Problem as problem:
        return {**facts, "target": f"missing: {problem.message}"}
    known = "by its features only"
    if target.name in TARGETS:
        known = "described" if target.name == cpu else f"by its features; it calls itself {cpu}"
    vectors = f"{target.vector_registers} vector registers of {target.vector_bits} bits"
    return {**facts, "target": f"{target.name} ({known}): {vectors}"}


def _measured(again: bool) -> dict[str, Any]:
    try:
        from strop.target import calibrate, host
        from strop.target.peak import measure_peak
    except ImportError as error:
        return {"clock": f"missing: {error}"}
    try:
        target = host.described_host()
    except Problem as problem:
        return {"clock": f"unknown: {problem.message}"}
    cache = Cache()
    found = None if again else calibrate.kept(target, cache)
    stored = found is not None
    if found is None:
        found = calibrate.calibrate(target)
        stored = calibrate.keep(found, target, cache)
    levels = zip(("L1", "L2", "L3", "memory"), found.bandwidth)
    peak = measure_peak()
    return {
        "clock": f"{found.ghz:.2f} GHz",
        "peak": f"{peak:.0f} GFLOP/s on one core, described as {found.of(target).peak_gflops:.0f}",
        "reads": ", ".join(f"{name} {rate:.1f}" for name, rate in levels) + " bytes per cycle",
        "steady": "yes" if found.steady else "no: the machine was busy; `strop doctor --again` when it is not",
        "kept": "yes: the cost model uses these numbers" if stored else "no: the cache cannot be written",
    }


def _torch() -> dict[str, Any]:
    try:
        import torch
    except ImportError as error:
        return {"version": f"missing: {error}"}
    return {"version": torch.__version__, "threads": torch.get_num_threads(), "openmp": _openmp()}


def _openmp() -> str:
    """The OpenMP runtime in this process; generated code joins its pool of threads."""
    maps = Path("/proc/self/maps")
    if not maps.is_file():
        return "unknown on this platform"
    loaded = dict.fromkeys(line.split()[-1] for line in maps.read_text().splitlines() if "/" in line)
    found = [path for path in loaded if Path(path).name.startswith(("libgomp", "libomp", "libiomp"))]
    return ", ".join(found) if found else "none loaded: generated code runs on its own threads"


def _cache() -> dict[str, Any]:
    cache = Cache()
    entries = cache.entries()
    nearest = next((p for p in (cache.directory, *cache.directory.parents) if p.exists()), cache.directory)
    return {
        "directory": str(cache.directory),
        "writable": "yes" if os.access(nearest, os.W_OK) else "no: set STROP_CACHE to a directory of your own",
        "entries": len(entries),
        "bytes": sum(entry.bytes for entry in entries),
        "limit": cache.limit,
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def healthy(facts: dict[str, dict[str, Any]]) -> bool:
    """Whether everything that compiling needs was found."""
    return not any(str(value).startswith("missing") for section in facts.values() for value in section.values())
