"""Are models of `transformers` still the same after `strop fix`? Applied to copies, imported, run, compared.

    python benchmarks/adopt_equal.py                     # every model type that can be built; a table
    python benchmarks/adopt_equal.py llama gemma --show  # some, with their diffs and differences
    python benchmarks/adopt_equal.py --write docs/adopt-equal.json

For each type the file of its model is copied with every safe edit applied, and imported in place of the original. Both
versions get the same random parameters and buffers; outputs and gradients are compared in eval and training mode, in
float64 and float32 (there with native kernels at every size), and checkpoints go from one to the other. Functions that
no finding names must be the same to the last node of their syntax trees.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from forked import run_forked
from tiny_models import NAMES, build, configuration, model_class, warm


def planned(file: str) -> tuple[str, str, list[Any]]:
    """A file before and after the safe edits of all adopt rules, and the findings that were applied."""
    from strop.source import adopt
    from strop.source.adopt.names import QuickProject
    from strop.source.facts import Scan
    from strop.source.fix.fixing import fix

    done = fix(lambda: Scan(findings=adopt.findings(QuickProject([file], [file]), strop=True)), unsafe=False)
    before = Path(file).read_text(encoding="utf-8")
    return before, done.plan.after.get(file, before), done.applied


def functions(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Every function by its dotted name, with its syntax."""

    def inside(node: ast.AST, prefix: str) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{prefix}{child.name}"
                if not isinstance(child, ast.ClassDef):
                    yield name, ast.dump(child)
                yield from inside(child, f"{name}.")
            else:
                yield from inside(child, prefix)

    return inside(tree, "")


def misplaced(before: str, after: str, named: set[str]) -> list[str]:
    """Functions that changed without a finding that names them (or something inside them)."""
    old, new = dict(functions(ast.parse(before))), dict(functions(ast.parse(after)))
    changed = {name for name in {*old, *new} if old.get(name) != new.get(name)}
    return sorted(c for c in changed if not any(n == c or n.startswith(f"{c}.") for n in named))


def compared(model_type: str) -> dict[str, Any]:
    """One model type, before and after."""
    import torch

    from strop.kernels import autograd
    from strop.verify.child.prove_child import Comparison, Watch, load_edited

    for name in autograd.SMALLEST:
        autograd.SMALLEST[name] = 1
    kind = model_class(model_type)
    module = sys.modules[kind.__module__]
    file = str(module.__file__)
    started = time.perf_counter()
    before, after, applied = planned(file)
    seconds = time.perf_counter() - started
    row: dict[str, Any] = {
        "file": Path(file).name,
        "edits": sorted({f"{f.code} {f.function}" for f in applied}),
        "seconds": seconds,
        "after": after,
    }
    if not applied:
        return row
    try:
        ast.parse(after)
    except SyntaxError as error:
        return {**row, "unparsable": str(error)}
    row["misplaced"] = misplaced(before, after, {f.function for f in applied})
    one, inputs = build(model_type)
    with tempfile.TemporaryDirectory() as folder:
        edited = load_edited(module, after, folder)
        made = getattr(edited, kind.__name__)
        torch.manual_seed(0)
        config = configuration(model_type)
        with in_place_of(module, edited):
            two = made._from_config(config, **_settings(made)) if hasattr(made, "_from_config") else made(config)
        with Watch(str(edited.__file__)) as watch:
            outcome = Comparison().models(one, two.eval(), inputs)
        row["run"] = sorted({f.function for f in applied} & watch.seen)
    row["compared"] = outcome.compared
    row["differences"] = outcome.differences
    row["largest"], row["largest_exact"] = outcome.largest, outcome.largest_exact
    return row


@contextmanager
def in_place_of(module: Any, edited: Any) -> Iterator[None]:
    """Automatic classes find the edited ones, too: parts of a model are often made by them."""
    package = sys.modules[module.__package__]
    kept = {
        (place, name): vars(place)[name]
        for place in (module, package)
        for name, value in vars(edited).items()
        if isinstance(value, type) and value.__module__ == edited.__name__ and name in vars(place)
    }
    for name, value in list(vars(edited).items()):
        if isinstance(value, type) and value.__module__ == edited.__name__:
            setattr(package, name, value)
            setattr(module, name, value)
    try:
        yield
    finally:
        for (place, name), value in kept.items():
            setattr(place, name, value)


def without_edits(names: Sequence[str]) -> set[str]:
    """The types in whose file there is nothing to edit, so that they cost no process."""
    by_file: dict[str, bool] = {}
    found = set()
    for name in names:
        try:
            file = inspect.getfile(model_class(name))
        except (ImportError, AttributeError, TypeError):
            continue  # the process will say why
        if file not in by_file:
            by_file[file] = not planned(file)[2]
        if by_file[file]:
            found.add(name)
    return found


def _settings(kind: Any) -> dict[str, str]:
    """What `tiny_models.build` gives to the original."""
    text = inspect.getsource(build)
    return {name: "eager" for name in ("attn_implementation", "experts_implementation") if name in text}


def verdict(row: dict[str, Any], problem: str) -> str:
    if problem:
        return f"not run: {problem.strip().splitlines()[-1][:100]}"
    if row.get("unparsable"):
        return f"UNPARSABLE: {row['unparsable']}"
    if row.get("misplaced"):
        return f"WRONG PLACE: {', '.join(row['misplaced'])}"
    if row.get("differences"):
        return f"DIFFERENT: {row['differences'][0]}"
    if not row["edits"]:
        return "nothing to edit"
    if not row["run"]:
        return "no edited function ran"
    return (
        f"equal ({len(row['run'])} edited functions ran; {row['largest_exact']:.1e} in float64, {row['largest']:.1e})"
    )


def store(rows: dict[str, dict[str, Any]], file: str) -> None:
    """What a reader wants to know of each type: the verdict, the edits, which of them ran, the largest errors."""
    wanted = ("verdict", "edits", "run", "largest", "largest_exact", "differences")
    kept = {name: {key: row[key] for key in wanted if key in row} for name, row in sorted(rows.items())}
    Path(file).write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--show", action="store_true", help="print diffs and differences")
    parser.add_argument("--write", metavar="FILE", help="store the table as JSON")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    warm()
    from strop.source.adopt import rulebook

    rulebook.load()
    rows: dict[str, dict[str, Any]] = {}
    names = given.names or list(NAMES)
    plain = without_edits(names)
    rows.update({name: {"verdict": "nothing to edit", "edits": []} for name in plain})
    names = [name for name in names if name not in plain]
    for name, row, problem in run_forked(compared, names, workers=given.workers, seconds=120, full=given.show):
        rows[name] = {"verdict": verdict(row or {}, problem), **(row or {})}
        print(f"{name:28} {rows[name]['verdict']}", flush=True)
        if given.write:
            store(rows, given.write)
        if given.show and row:
            for edit in row["edits"]:
                print(f"    {edit}")
            for line in row.get("differences", ()):
                print(f"    {line}")
    print(summary(rows))
    return 1 if any(row["verdict"][:2].isupper() for row in rows.values()) else 0


def summary(rows: dict[str, dict[str, Any]]) -> str:
    said = [row["verdict"] for row in rows.values()]
    kinds = {
        "equal": "run and equal",
        "no edited function ran": "whose edited functions were not reached",
        "not run": "could not be run",
        "nothing to edit": "with nothing to edit",
    }
    counts = [f"{sum(text.startswith(start) for text in said)} {what}" for start, what in kinds.items()]
    wrong = sum(text[:2].isupper() for text in said)
    functions = sum(len(row.get("run", ())) for row in rows.values() if row["verdict"].startswith("equal"))
    return f"{len(rows)} model types: {', '.join(counts)}, {wrong} wrong; {functions} edited functions ran"


if __name__ == "__main__":
    sys.exit(main())
