"""ONNX's own backend tests, driven by its own runner, against Strop.

python tests/onnx_suite.py              # all node tests: prints the count, fails where excluded.txt is wrong
python tests/onnx_suite.py --write      # and keeps the count for docs/onnx.md
python tests/onnx_suite.py PATTERN      # those whose names match, with the reasons of failures
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import json
import os
import re
import sys
import time
import unittest
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXCLUDED = ROOT / "tests" / "frontend" / "onnx" / "excluded.txt"
RESULTS = ROOT / "docs" / "onnx-suite.json"

#: categories that the suite counts though hardly any runtime has them all
_SPECIAL = ("STRING", "FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2")


@functools.cache
def cases() -> dict[str, Any]:
    """Every node test by name, as ONNX's runner makes it; calling one runs it."""
    warnings.simplefilter("ignore", RuntimeWarning)
    import onnx.backend.test

    from strop import onnx_backend

    suite = onnx.backend.test.BackendTest(onnx_backend.StropBackend, __name__)
    made = suite.test_cases["OnnxBackendNodeModelTest"]
    names = [name for name in dir(made) if name.startswith("test_") and name.endswith("_cpu")]
    return {name: getattr(made(name), name) for name in names}


@functools.cache
def models() -> dict[str, Any]:
    """The model behind each test."""
    from onnx.backend.test.loader import load_model_tests

    return {f"{case.name}_cpu": case.model for case in load_model_tests(kind="node")}


def short(name: str) -> str:
    return name.removeprefix("test_").removesuffix("_cpu")


@functools.cache
def exclusions() -> dict[str, str]:
    """Pattern → reason."""
    lines = (line.strip() for line in EXCLUDED.read_text(encoding="utf-8").splitlines())
    pairs = (line.partition(": ") for line in lines if line and not line.startswith("#"))
    return {pattern: reason for pattern, _, reason in pairs}


def excluded(name: str) -> str:
    """Why a test is not expected to pass, or ''."""
    matching = (reason for pattern, reason in exclusions().items() if fnmatch.fnmatchcase(short(name), pattern))
    return next(matching, "")


def special(name: str) -> bool:
    """Whether a test is about strings, sequences, optionals, narrow types, or the preview and ml domains."""
    from onnx import TensorProto

    model = models()[name]
    if any(entry.domain.startswith(("ai.onnx.preview", "ai.onnx.ml")) for entry in model.opset_import):
        return True
    for value in (*model.graph.input, *model.graph.output):
        if value.type.WhichOneof("value") != "tensor_type":
            return True
        if TensorProto.DataType.Name(value.type.tensor_type.elem_type).startswith(_SPECIAL):
            return True
    return False


def run(name: str) -> str:
    """'' for a pass, else the reason."""
    try:
        cases()[name]()
    except unittest.SkipTest as skipped:
        return f"skipped: {skipped}"
    except Exception as failure:
        lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
        return f"{type(failure).__name__}: {' | '.join(lines[:4])}"[:300]
    return ""


def interpreted() -> list[str]:
    """Collects the reasons why a model did not run as compiled code, as long as the process lives."""
    from strop.core.journal import Journal

    reasons: list[str] = []
    add = Journal.add

    def watch(self: Any, kind: Any, subject: object, message: str = "", **data: Any) -> Any:
        if kind == "fallback" and message.startswith("runs eager"):
            reasons.append(message)
        return add(self, kind, subject, message, **data)

    Journal.add = watch  # type: ignore[method-assign]
    return reasons


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    os.environ.setdefault("STROP_CACHE", "off")
    warnings.simplefilter("ignore")
    chosen = [name for name in cases() if re.search(given.pattern, name)]
    reasons = interpreted()
    failed: dict[str, str] = {}
    by_interpreter = 0
    begun = time.perf_counter()
    for done, name in enumerate(chosen, 1):
        before = len(reasons)
        failure = run(name)
        if failure:
            failed[name] = failure
        elif len(reasons) > before:
            by_interpreter += 1
        if sys.stderr.isatty():
            print(f"\r{done}/{len(chosen)}, {len(failed)} failed", end="", file=sys.stderr)
    passed = len(chosen) - len(failed)
    usual = [name for name in chosen if not special(name)]
    usual_passed = sum(name not in failed for name in usual)
    wrong = {name: why for name, why in failed.items() if not excluded(name)}
    surprising = [name for name in chosen if excluded(name) and name not in failed and "*" not in excluded(name)]
    for name, why in failed.items():
        told = f"(excluded: {excluded(name)})" if excluded(name) and not given.pattern else why
        print(f"{short(name)}: {told}")
    for name in surprising:
        print(f"{short(name)}: passes, though excluded.txt lists it")
    print(f"{passed} of {len(chosen)} node tests pass ({passed / max(len(chosen), 1):.1%}), {by_interpreter} of them "
          f"interpreted; without strings, sequences, optionals, narrow types, preview and ml domains: {usual_passed} of "
          f"{len(usual)} ({usual_passed / max(len(usual), 1):.1%}); {time.perf_counter() - begun:.0f} s")  # fmt: skip
    if given.write and not given.pattern:
        import onnx

        kept = {
            "onnx": onnx.__version__, "tests": len(chosen), "passed": passed, "interpreted": by_interpreter,
            "usual": len(usual), "usual_passed": usual_passed,
        }  # fmt: skip
        RESULTS.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    return 1 if wrong or (surprising and not given.pattern) else 0


if __name__ == "__main__":
    sys.exit(main())
