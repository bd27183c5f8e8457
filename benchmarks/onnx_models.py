"""Strop against ONNX Runtime on the trained models of `onnx_files`, one thread each, at their usual shapes.

    python benchmarks/onnx_models.py                     # all that can be had
    python benchmarks/onnx_models.py silero nudenet      # some, by the start of their names
    python benchmarks/onnx_models.py --json out.json --seconds 2
    python benchmarks/onnx_models.py --write             # and keeps what it measured for docs/onnx.md

Each model runs in a process of its own. Calls of the two alternate, and the clock is that of the calling thread, which
stands still while others have the core; the ratio is that of the medians.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from onnx_files import MODELS, TOLERANCE, RealModel, difference

#: what is kept of a measurement
NUMBERS = ("error", "ratio", "strop_ms", "onnxruntime_ms", "compile_s")
RESULTS = Path(__file__).resolve().parent.parent / "docs" / "onnx-models.json"


def measure(model: RealModel, seconds: float) -> dict[str, Any]:
    """One model: whether the results agree, and how long each takes."""
    import numpy as np
    import onnx
    import onnxruntime
    import torch

    from strop.runtime.onnx.model import compile_onnx

    torch.set_num_threads(1)
    path = model.path(download=False)
    assert path is not None
    feeds = model.feeds()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    peer = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    start = time.process_time()
    ours = compile_onnx(str(path), feeds)
    ours.run(feeds)
    compiled = time.process_time() - start
    expected, got = peer.run(None, feeds), list(ours.run(feeds).values())
    error = max((difference(np.asarray(e), np.asarray(g)) for e, g in zip(expected, got)), default=0.0)
    calls = {"strop": lambda: ours.run(feeds), "onnxruntime": lambda: peer.run(None, feeds)}
    times: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["strop"]) < 5:
        for name, call in calls.items():
            began = time.thread_time()
            call()
            times[name].append(time.thread_time() - began)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    return {
        "name": model.name,
        "error": error,
        "ratio": medians["onnxruntime"] / medians["strop"],
        "strop_ms": medians["strop"] * 1e3,
        "onnxruntime_ms": medians["onnxruntime"] * 1e3,
        "compile_s": compiled,
        "operators": len({node.op_type for node in onnx.load(path, load_external_data=False).graph.node}),
        "fallbacks": [f"{e.subject}: {e.message}" for e in ours.journal.events if e.kind == "fallback"],
    }


def in_child(model: RealModel, seconds: float, limit: float) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", model.name, "--seconds", str(seconds)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        return {"name": model.name, "failed": f"took more than {limit:.0f} s"}
    last = done.stdout.strip().splitlines()[-1:] or [""]
    if done.returncode or not last[0].startswith("{"):
        said = [line for line in done.stderr.strip().splitlines() if line.strip()]
        return {"name": model.name, "failed": said[-1] if said else f"exit code {done.returncode}"}
    found: dict[str, Any] = json.loads(last[0])
    return found


def show(row: dict[str, Any]) -> str:
    if "failed" in row:
        return f"{row['name']:22} failed: {row['failed']}"
    mark = "" if row["error"] <= TOLERANCE else f"  DIFFERS by {row['error']:.1e}"
    eager = f"  ({row['fallbacks'][0]})" if row["fallbacks"] else ""
    return (f"{row['name']:22} {row['strop_ms']:9.3f} ms {row['onnxruntime_ms']:9.3f} ms   {row['ratio']:5.2f}×"
            f"  compile {row['compile_s']:5.1f} s{mark}{eager}")  # fmt: skip


def keep(rows: list[dict[str, Any]]) -> None:
    """Put these measurements in the place of older ones of the same models."""
    kept = {row["name"]: row for row in json.loads(RESULTS.read_text(encoding="utf-8"))} if RESULTS.exists() else {}
    models = {model.name: model for model in MODELS}
    for row in rows:
        numbers = {key: float(f"{row[key]:.3g}") for key in NUMBERS}
        model = models[row["name"]]
        about = {"name": model.name, "package": model.package, "file": Path(model.file).name}
        kept[model.name] = {**about, "operators": row["operators"], **numbers}
    ordered = [kept[model.name] for model in MODELS if model.name in kept]
    RESULTS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="models, by the start of their names")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long to measure each model")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a model is given up")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", action="store_true", help="keep the results for the documentation")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure(next(m for m in MODELS if m.name == given.child), given.seconds)))
        return 0
    rows = []
    print(f"{'':22} {'strop':>12} {'onnxruntime':>12}")
    for model in MODELS:
        if given.names and not any(model.name.startswith(name) for name in given.names):
            continue
        if model.path() is None:
            print(f"{model.name:22} cannot be had")
            continue
        rows.append(in_child(model, given.seconds, given.limit))
        print(show(rows[-1]), flush=True)
    measured = [row for row in rows if "ratio" in row]
    if measured:
        mean = math.exp(statistics.fmean(math.log(row["ratio"]) for row in measured))
        wrong = sum(row["error"] > TOLERANCE for row in measured)
        slow = [row["name"] for row in measured if row["ratio"] < 0.9]
        print(f"{len(measured)} of {len(rows)} models ran, {wrong} differ; geometric mean {mean:.2f}×; "
              f"under 0.9: {', '.join(slow) or 'none'}")  # fmt: skip
    if given.write:
        keep(measured)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))
    return int(any("failed" in row or row["error"] > TOLERANCE for row in rows))


if __name__ == "__main__":
    sys.exit(main())
