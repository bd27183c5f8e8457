"""Packages that nobody here wrote: scanned, edited by `strop fix --write`, and their models run before and after.

    python tests/packages/judge.py                    # every package; prints a table, exit code 1 if anything is wrong
    python tests/packages/judge.py timm vit-pytorch   # some
    python tests/packages/judge.py --unproven         # and with every kernel, run or not, Strop's own too: a harder test
    python tests/packages/judge.py --write            # store the table in docs/packages.json

A package is copied into a scratch tree and edited there. A model is built in both trees, in processes of their own
(`record.py`), gets the same random weights and inputs, and everything it gives is compared. Models whose run reached an
edited function are counted apart: they are the ones that judge.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "src")]

from catalogue import PACKAGES, Package, fetch, named, site  # noqa: E402

TABLE = ROOT / "docs" / "packages.json"
DEATHS = 8  #: how often a process may die before a package is given up


def judge(package: Package, scratch: Path, *, unproven: bool, backend: str, only: list[str]) -> dict[str, Any]:
    """One package from the scan to the comparison; a row of the table."""
    row: dict[str, Any] = {"package": package.name, "version": package.version, "parts": list(package.parts)}
    before = package.copied_to(scratch / "before")
    row |= scanned(package.sources(before))
    trees = {"default": scratch / "default", **({"unproven": scratch / "unproven"} if unproven else {})}
    edited: dict[str, dict[str, list[str]]] = {}
    for how, tree in trees.items():
        folder = package.copied_to(tree)
        told = fixed(package.sources(folder), unproven=how == "unproven")
        edited[how] = changed_functions(before, folder)
        row[how] = {**told, "functions": sum(map(len, edited[how].values()))}
    return row | compared(package, scratch, edited, row, backend, only)


def scanned(folders: list[str]) -> dict[str, Any]:
    """A cold scan in one process: lines, lines per second of processor time, findings."""
    code = (
        "import json, sys, time\n"
        "from strop.source.scan_project import scan_project as survey\n"
        "started = time.process_time()\n"
        "scan = survey(sys.argv[1:], jobs=1, cache=None)\n"
        "seconds = time.process_time() - started\n"
        "codes = [finding.code for finding in scan.findings]\n"
        "print(json.dumps({'lines': scan.lines, 'seconds': seconds, 'codes': codes,"
        " 'skipped': [s.file + ': ' + s.message for s in scan.skipped]}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *folders], capture_output=True, text=True, env=environment())
    if done.returncode:
        return {"problem": f"the scan failed: {done.stderr[-2000:]}", "lines": 0}
    found = json.loads(done.stdout.splitlines()[-1])
    return {
        "lines": found["lines"],
        "lines_per_second": round(found["lines"] / max(found["seconds"], 1e-3)),
        "findings": len(found["codes"]),
        "codes": dict(sorted(Counter(found["codes"]).items())),
        "skipped": len(found["skipped"]),
    }


def fixed(folders: list[str], *, unproven: bool) -> dict[str, Any]:
    """`strop fix --write` as a user calls it."""
    more = ["--unproven", "--with-strop"] if unproven else []
    started = time.perf_counter()
    command = [sys.executable, "-m", "strop", "fix", *folders, "--write", "--json", "--jobs", "1", *more]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(site()))
    try:
        told = json.loads(done.stdout)
    except ValueError:
        return {"problem": f"fix ended with code {done.returncode}: {(done.stderr or done.stdout)[-2000:]}", "edits": 0}
    codes = Counter(one["code"] for one in told["applied"])
    return {"edits": len(told["applied"]), "edited": dict(codes), "fix_seconds": round(time.perf_counter() - started)}


def environment(*path: Path) -> dict[str, str]:
    known = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *map(str, path)]), "COLUMNS": "200"}
    return {**known, "PYTHONDONTWRITEBYTECODE": "1", "TRANSFORMERS_VERBOSITY": "error"}


# ---- what was edited -------------------------------------------------------------------------------------------------


def changed_functions(before: Path, after: Path) -> dict[str, list[str]]:
    """Functions whose syntax differs, by edited file; what is told of the edits is not asked."""
    found: dict[str, list[str]] = {}
    for file in sorted(after.rglob("*.py")):
        old, new = (before / file.relative_to(after)).read_bytes(), file.read_bytes()
        if old == new:
            continue
        was, now = (dict(functions(ast.parse(text))) for text in (old, new))
        found[str(file)] = [name for name, text in now.items() if was.get(name) != text]
    return found


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every function by its dotted name, with its syntax (that of functions inside it included)."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{prefix}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, ast.dump(child)
            yield from functions(child, f"{name}.")
        else:
            yield from functions(child, prefix)


# ---- running ---------------------------------------------------------------------------------------------------------


def compared(
    package: Package,
    scratch: Path,
    edited: dict[str, dict[str, list[str]]],
    row: dict[str, Any],
    backend: str,
    only: list[str],
) -> dict[str, Any]:
    """What models give before, and after the edits of each kind; counts go into the part of the row that it is for."""
    store = scratch / "store"
    store.mkdir()
    job = {"package": package.folder, "store": str(store), "path": [str(ROOT / "src"), str(site())]}
    job |= {"backend": backend, "smallest": True}
    first = recorded({**job, "role": "before", "tree": str(scratch / "before"), "names": only}, scratch)
    built = [name for name, one in first.items() if "problem" not in one]
    for how, functions_of in edited.items():
        tree = scratch / how
        after = {**job, "role": how, "tree": str(tree), "names": built, "edited": functions_of}
        second = recorded(after, scratch) if built and functions_of else {}
        row[how] |= outcome(second, functions_of, tree)
    return {
        "built": len(built),
        "float64": sum(first[name].get("float64", False) for name in built),
        "not_built": {name: one["problem"] for name, one in first.items() if "problem" in one},
    }


def outcome(second: dict[str, dict[str, Any]], edited: dict[str, list[str]], tree: Path) -> dict[str, Any]:
    reached = {name for one in second.values() for name in one.get("ran", ())}
    every = {f"{file}:{name}" for file, names in edited.items() for name in names}
    precisions = ("float32", "float64")
    return {
        "ran_edited": sum(bool(one.get("ran")) for one in second.values()),
        "reached": _relative(reached, tree),
        "not_reached": _relative(every - reached, tree),
        "wrong": {n: one.get("differences") or [one["problem"]] for n, one in second.items() if _is_wrong(one)},
        "largest": {
            precision: max((one["largest"][precision] for one in second.values() if "largest" in one), default=0.0)
            for precision in precisions
        },
    }


def _is_wrong(one: dict[str, Any]) -> bool:
    return bool(one.get("differences") or one.get("problem"))


def _relative(names: set[str], tree: Path) -> list[str]:
    return sorted(name.removeprefix(f"{tree}/") for name in names)


def recorded(job: dict[str, Any], scratch: Path) -> dict[str, dict[str, Any]]:
    """The rows of a process; a case that kills it is told, and the others go on in another one."""
    rows: dict[str, dict[str, Any]] = {}
    skip: list[str] = []
    for turn in range(DEATHS):
        job_file, rows_file = scratch / f"job-{job['role']}.json", scratch / f"rows-{job['role']}-{turn}.jsonl"
        job_file.write_text(json.dumps({**job, "rows": str(rows_file), "skip": [*rows, *skip]}), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(HERE / "record.py"), str(job_file)], capture_output=True, env=environment()
        )
        errors = done.stderr.decode(errors="replace")[-1500:]
        last = ""
        for line in rows_file.read_text(encoding="utf-8").splitlines() if rows_file.exists() else ():
            row = json.loads(line)
            last = row.get("began", last)
            if "name" in row:
                rows[row["name"]] = row
        if done.returncode == 0:
            return rows
        if not last or last in rows:
            return {**rows, "the package": {"problem": f"the process ended with {done.returncode}: {errors}"}}
        rows[last] = {"problem": f"the process died with code {done.returncode}: {errors[-300:]}"}
    return rows


def line_of(row: dict[str, Any]) -> str:
    speed = row.get("lines_per_second", 0)
    told = f"{row['package']:34} {row['version']:10} {row['lines']:7} lines {speed:6}/s {row.get('findings', 0):4} findings"
    return f"{told} {row.get('built', 0):4} built; " + "; ".join(
        f"{how}: {one['edits']} edits, {one['ran_edited']} ran them, {len(one['wrong'])} wrong"
        for how, one in _ways(row)
    )


def _ways(row: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(how, row[how]) for how in ("default", "unproven") if how in row]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*")
    parser.add_argument("--unproven", action="store_true", help="also with kernels that were not run, and Strop's own")
    parser.add_argument("--only", action="append", default=[], help="only this case; repeatable")
    parser.add_argument("--backend", default="eager", help="what torch.compile compiles with (default: eager)")
    parser.add_argument("--keep", metavar="FOLDER", help="work in this folder and leave the trees there")
    parser.add_argument("--write", nargs="?", const=str(TABLE), metavar="FILE", help="store the rows as JSON")
    given = parser.parse_args()
    fetch()
    rows: list[dict[str, Any]] = []
    for package in named(given.packages):
        with tempfile.TemporaryDirectory(prefix="strop-packages-") as folder:
            scratch = Path(given.keep) / package.folder if given.keep else Path(folder)
            scratch.mkdir(parents=True, exist_ok=True)
            row = judge(package, scratch, unproven=given.unproven, backend=given.backend, only=given.only)
        rows.append(row)
        print(line_of(row), flush=True)
        for how, one in _ways(row):
            for name, why in one["wrong"].items():
                print(f"    WRONG {how} {name}: {'; '.join(why[:2])}", flush=True)
        if given.write:
            store(rows, Path(given.write))
    built = sum(row.get("built", 0) for row in rows)
    wrong = sum(len(one["wrong"]) + ("problem" in one) for row in rows for _, one in _ways(row))
    ran = sum(one["ran_edited"] for row in rows for _, one in _ways(row))
    print(f"{len(rows)} packages: {built} models built, {ran} ran edited code, {wrong} wrong")
    return 1 if wrong else 0


def store(rows: list[dict[str, Any]], file: Path) -> None:
    """Rows of other packages stay: a table can be made in several runs."""
    known = {row["package"]: row for row in json.loads(file.read_text(encoding="utf-8"))} if file.exists() else {}
    known |= {row["package"]: row for row in rows}
    order = [package.name for package in PACKAGES]
    kept = sorted(known.values(), key=lambda row: order.index(row["package"]) if row["package"] in order else 99)
    file.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
