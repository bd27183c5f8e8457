"""What really runs in the models of `transformers`: attention, norms, activations, … with their places in the source.

    python benchmarks/oracle.py --out oracle.json        # all tiny models, in evaluation and in training
    python benchmarks/oracle.py llama bert --out one.json
    python benchmarks/oracle_compare.py oracle.json      # against what `strop scan` finds in the same files

Independent of Strop's matcher: nothing here reads source or knows its rules. Models are run, every torch function is
recorded, and the recognisers of `oracle_recognise.py` decide on values. Results are kept per model type in a folder
(`STROP_ORACLE_CACHE`, or `strop-oracle` in the user's cache), under the hash of configuration, modeling file and
recognisers.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import tiny_models
import torch
import transformers
from forked import run_forked
from oracle_flow import Flow
from oracle_found import Found
from oracle_recognise import recognise
from oracle_record import record

PACKAGE = Path(transformers.__file__).parent
HERE = Path(__file__).resolve().parent


def _code(name: str) -> str:
    tree = ast.parse((HERE / name).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
    return ast.dump(tree)


RECOGNISERS = (
    "oracle_record.py", "oracle_flow.py", "oracle_found.py", "oracle_attention.py", "oracle_recognise.py",
)  # fmt: skip
#: what the recognisers were when this process began; comments and layout do not matter
ORACLE = hashlib.sha256("".join(map(_code, RECOGNISERS)).encode()).hexdigest()


def observe(model_type: str) -> dict[str, Any]:
    """Run one model type in both modes and every variant; places and executed lines, as plain data."""
    found: dict[tuple[Any, ...], Found] = {}
    lines: dict[str, set[int]] = {}
    problems = []
    for variant in tiny_models.variants(model_type):
        try:
            model, inputs = tiny_models.build(model_type, variant)
        except Exception as problem:
            if not variant:
                raise
            problems.append(f"{variant}: {type(problem).__name__}: {problem}"[:200])
            continue
        for training in (False, True):
            model.train(training)
            torch.manual_seed(0)
            try:
                recording = record(model, inputs, PACKAGE)
            except Exception as problem:  # some models train only with labels
                problems.append(f"{'train' if training else 'eval'}: {type(problem).__name__}: {problem}"[:200])
                continue
            here = {(each.family, each.variant, each.place): each for each in recognise(Flow(recording))}
            if variant == "other_numbers":
                here = _changed(found, here, recording.lines)
            found = here | found
            for file, executed in recording.lines.items():
                lines.setdefault(file, set()).update(executed)
    places = [as_data(model_type, each) for each in found.values()]
    return {"places": places, "lines": {file: sorted(s) for file, s in lines.items()}, "problems": problems}


def _changed(before: dict[Any, Found], now: dict[Any, Found], lines: dict[str, set[int]]) -> dict[Any, Found]:
    """Activations that are none once numbers of the configuration change, though the same lines ran."""
    known = {each.place for each in now.values()}
    lost = {}
    for (family, _, place), each in before.items():
        if family == "activation" and place not in known and place.last in lines.get(place.file, ()):
            lost[family, "near:configured", place] = replace(each, variant="near:configured")
    return lost


def as_data(model_type: str, found: Found) -> dict[str, Any]:
    place = found.place
    return {
        "model_type": model_type,
        "family": found.family,
        "variant": found.variant,
        "file": place.file,
        "function": place.function,
        "first": place.first,
        "last": place.last,
        "parts": [[part.file, part.function, part.first, part.last] for part in found.parts],
        "ops": list(found.ops),
    }


def cache_folder() -> Path:
    given = os.environ.get("STROP_ORACLE_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "strop-oracle"


def cache_key(model_type: str) -> str:
    digest = hashlib.sha256(f"{transformers.__version__} {torch.__version__} {ORACLE}".encode())
    if model_type == tiny_models.ACTIVATIONS:
        return f"{model_type}-{digest.hexdigest()[:24]}.json"
    for variant in tiny_models.variants(model_type):
        digest.update(tiny_models.configuration(model_type, variant).to_json_string().encode())
    module = sys.modules.get(tiny_models.model_class(model_type).__module__)
    digest.update(Path(str(getattr(module, "__file__", PACKAGE / "__init__.py"))).read_bytes())
    return f"{model_type.replace('/', '_')}-{digest.hexdigest()[:24]}.json"


def cached(model_type: str) -> dict[str, Any]:
    file = cache_folder() / cache_key(model_type)
    if file.exists():
        result: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return result
    try:
        result = observe(model_type)
    except Exception as problem:
        result = {"places": [], "lines": {}, "problems": [f"build: {type(problem).__name__}: {problem}"[:200]]}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(result), encoding="utf-8")
    return result


def collect(names: list[str], *, seconds: float = 90.0, quiet: bool = False) -> dict[str, Any]:
    """The observations of many model types."""
    tiny_models.warm()
    models, failed = [], {}
    places: list[dict[str, Any]] = []
    lines: dict[str, set[int]] = {}
    for name, result, problem in run_forked(cached, names, workers=2, seconds=seconds):
        if result is None or not result["lines"]:
            failed[name] = problem or "; ".join(result["problems"])
            continue
        models.append(name)
        places += result["places"]
        for file, executed in result["lines"].items():
            lines.setdefault(file, set()).update(executed)
        if not quiet:
            print(f"{name:40} {len(result['places']):3} places {'; '.join(result['problems'])}", flush=True)
    return {
        "transformers": transformers.__version__,
        "package": str(PACKAGE),
        "models": sorted(models),
        "failed": failed,
        "places": sorted(places, key=lambda p: (p["file"], p["first"], p["family"], p["model_type"])),
        "lines": {file: sorted(executed) for file, executed in sorted(lines.items())},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="model types; all without")
    parser.add_argument("--out", default="oracle.json")
    given = parser.parse_args()
    started = time.perf_counter()
    result = collect(given.names or [*tiny_models.NAMES, tiny_models.ACTIVATIONS])
    Path(given.out).write_text(json.dumps(result), encoding="utf-8")
    for name, problem in sorted(result["failed"].items()):
        print(f"{name:40} not run: {problem}")
    print(f"{len(result['models'])} model types, {len(result['places'])} places, {time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
