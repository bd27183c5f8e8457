"""Are the verdicts true? Every case of tests/source against its judge, and the counts for docs/scan.md.

python benchmarks/hybridize_truth.py torch --write         # Dynamo compiles every case of torch_cases
python benchmarks/hybridize_truth.py tensorflow --write    # facts of tf_cases; safe changes are run
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "docs" / "hybridize-truth.json"
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=["torch", "tensorflow"])
    parser.add_argument("--write", action="store_true", help=f"keep the counts in {KEPT.name}")
    given = parser.parse_args()
    found, wrong = {"torch": torch, "tensorflow": tensorflow}[given.framework]()
    for text in wrong:
        print(text)
    print("  ".join(f"{name} {count}" for name, count in found.items()))
    if given.write:
        known = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
        KEPT.write_text(json.dumps({**known, given.framework: found}, indent=1) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def torch() -> tuple[dict[str, Any], list[str]]:
    import torch as library

    from source.hybridize.torch_truth import cases, truth
    from strop.source.scan import scan

    count: Counter[str] = Counter()
    wrong = []
    for case in cases():
        try:
            real = truth(case.path)
        except ModuleNotFoundError as missing:
            print(f"{case.path.stem}: {missing.name} is not installed")
            continue
        said = {function.function: function for function in scan([str(case.path)]).functions}[case.function]
        agrees = (said.safety == "unsafe") == real.breaks
        count.update(cases=1, breaking=real.breaks, agree=agrees, unknown=said.verdict == "unknown")
        count.update(safe=said.safety == "safe", safe_that_break=said.safety == "safe" and real.breaks)
        if not agrees:
            wrong.append(f"{case.path.stem}: {said.verdict}, {said.safety}; breaks: {real.breaks}")
    return {"version": library.__version__.partition("+")[0], **count}, wrong


def tensorflow() -> tuple[dict[str, Any], list[str]]:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as library

    from source.hybridize.agreement import comparisons
    from source.hybridize.corpus import cases
    from source.hybridize.test_tf_truth import safe_changes
    from source.hybridize.tf_truth import differences

    count: Counter[str] = Counter()
    called: set[str] = set()
    wrong = []
    for case in cases():
        compared = list(comparisons(case))
        count.update(cases=1, facts=len(compared), agree=sum(c.agrees for c in compared))
        wrong += [str(c) for c in compared if not c.agrees]
        changes = safe_changes(case) if case.truth != "skip" else []
        if not changes:
            continue
        with tempfile.TemporaryDirectory(prefix="strop-truth-") as work:
            differing = differences(case.path, changes, Path(work), called)
        count.update(programs_run=1, safe_changes=len(changes), programs_that_differ=bool(differing))
        wrong += [f"{case.name}: {text}" for text in differing]
    return {"version": library.__version__, **count, "functions": len(called)}, wrong


if __name__ == "__main__":
    sys.exit(main())
