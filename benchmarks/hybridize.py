"""What `strop fix --write` is worth: fix each loop of examples/loops, verify it, and print the table. Both times
are of whole runs: the loop as it was written, eagerly, and the loop as it was fixed.

python benchmarks/hybridize.py                                    # those whose framework is installed here
python benchmarks/hybridize.py --python /path/to/python torch_    # another Python; only names that begin so
python benchmarks/hybridize.py --json results.json
python benchmarks/hybridize.py --write                            # keep the figures for docs/scan.md
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_THREADS = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
ROOT = Path(__file__).resolve().parent.parent
LOOPS = ROOT / "examples" / "loops"
KEPT = ROOT / "docs" / "hybridize.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of names; all without")
    parser.add_argument("--python", action="append", help="a Python to run loops with; repeatable, the first that fits")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--write", action="store_true", help=f"replace the figures of these loops in {KEPT.name}")
    parser.add_argument("--timeout", type=float, default=600.0)
    parser.add_argument("--threads", type=int, default=1, help="threads of each run; more only on an idle machine")
    given = parser.parse_args()
    os.environ.update(dict.fromkeys(_THREADS, str(given.threads)))
    pythons = given.python or [sys.executable]
    rows = []
    for loop in sorted(LOOPS.glob("*.py")):
        if given.names and not loop.stem.startswith(tuple(given.names)):
            continue
        framework = loop.stem.partition("_")[0]
        python = next((p for p in pythons if _has(p, framework)), None)
        if python is None:
            print(f"{loop.stem:28} {framework} is not installed: not run")
            continue
        rows.append(measure(loop, python, given.timeout))
        print(line(rows[-1]), flush=True)
    ran = [row for row in rows if "speedup" in row]
    if ran:
        print(f"\n{len(ran)} loops, {sum(row['equal'] for row in ran)} equal")
        for name, key in (("wall clock", "speedup"), ("processor time", "cpu_speedup")):
            values = [row[key] for row in ran]
            geometric = math.exp(sum(map(math.log, values)) / len(values))
            print(f"mean speed-up, {name}: {sum(values) / len(values):.2f}× (geometric {geometric:.2f}×)")
    if given.json:
        Path(given.json).write_text(json.dumps(rows, indent=2), encoding="utf-8")
    if given.write:
        keep(ran)
    return 0 if ran and all(row.get("equal") for row in rows) else 1


def keep(rows: list[dict[str, Any]]) -> None:
    """Store what the documentation shows, beside the loops that were not run this time."""
    known = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []
    stored = {row["loop"]: row for row in known}
    for row in rows:
        eager, graph = row["eager"], row["graph"]
        stored[row["loop"]] = {
            "loop": row["loop"],
            "edits": row["edits"],
            "equal": row["equal"],
            "eager_ms": round(eager["seconds"] * 1e3, 1),
            "graph_ms": round(graph["seconds"] * 1e3, 1),
            "speedup": round(row["speedup"], 2),
            "graphs": graph["graphs"],
            "breaks": sum(n for _, n in graph["breaks"]),
        }
    text = json.dumps([stored[name] for name in sorted(stored)], indent=1)
    KEPT.write_text(text + "\n", encoding="utf-8")


def measure(loop: Path, python: str, timeout: float) -> dict[str, Any]:
    """Fix a copy of a loop, and verify it beside the loop as it was written."""
    with tempfile.TemporaryDirectory(prefix="strop-loops-") as folder:
        written, copy = Path(folder) / "written" / loop.name, Path(folder) / "fixed" / loop.name
        for file in (written, copy):
            file.parent.mkdir()
            shutil.copy(loop, file)
        fixed = _strop("fix", str(copy), "--write", "--json", "--no-cache")
        if not fixed.get("applied"):
            return {"loop": loop.stem, "problem": "no edit was applied"}
        wanted = ("--fix", "--python", python, "--json", "--timeout", str(timeout))
        found = _strop("verify", f"{written}:main", *wanted)
        if "problem" in found:
            return {"loop": loop.stem, "problem": found["problem"]["message"]}
        return {"loop": loop.stem, "edits": len(fixed["applied"]), **found}


def line(row: dict[str, Any]) -> str:
    if "problem" in row:
        return f"{row['loop']:28} {row['problem']}"
    eager, graph = row["eager"], row["graph"]
    result = "equal" if row["equal"] else "DIFFERENT"
    counts = f"{graph['graphs']} graphs, {sum(n for _, n in graph['breaks'])} breaks, {graph['retraces']} retraces"
    times = f"{eager['seconds'] * 1e3:9.1f} → {graph['seconds'] * 1e3:8.1f} ms"
    speed = f"{row['speedup']:6.2f}× (processor {row['cpu_speedup']:.2f}×)"
    return f"{row['loop']:28} {result:9} {row['edits']:2} edits  {times} {speed}  {counts}"


def _strop(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-m", "strop", *arguments], capture_output=True, text=True, check=False)
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"strop {' '.join(arguments)} failed:\n{done.stderr}") from None
    return answer


def _has(python: str, package: str) -> bool:
    find = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    return subprocess.run([python, "-c", find], check=False, capture_output=True).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
