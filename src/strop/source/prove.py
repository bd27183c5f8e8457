"""Proof of adopted kernels: a file and its edited version are run side by side, in a process of their own.

    proof = prove(file, text, findings)        # what was run, what was compared, the largest difference
    proof.verified                             # the edited functions that ran and gave the same

The process (`run/prove.py`) makes models from an entry that the user names, from configuration classes, or by guessing
from names; a function that nothing reached is "not verified", and said to be.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from strop.core.problem import Problem
from strop.source import fixing
from strop.source.facts import Finding, Scan
from strop.source.fixing import Fixed
from strop.source.verify import Job, Limits, module_of, tail, watched

_ROUNDS = 4  #: an edit that is not verified is left out, and the rest is run again
_CHILD = Path(__file__).parent.parent / "run" / "prove.py"
_START = "import sys; del sys.path[0]; import runpy; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"


@dataclass(frozen=True)
class Subject:
    """One model or function that was run in both versions."""

    what: str
    run: tuple[str, ...]  #: edited functions that it reached
    compared: tuple[str, ...]
    differences: tuple[str, ...]
    problem: str  #: why it could not be run
    largest: float  #: error relative to a tensor's scale, in float32
    largest_exact: float  #: in float64


@dataclass(frozen=True)
class Proof:
    """What is known of the edits of one file after running them."""

    file: str
    functions: tuple[str, ...]  #: that were edited
    subjects: tuple[Subject, ...] = ()
    error: str = ""
    findings: tuple[Finding, ...] = field(default=(), repr=False)

    @property
    def different(self) -> set[str]:
        return {name for one in self.subjects if one.differences for name in one.run}

    @property
    def verified(self) -> set[str]:
        """Edited functions that ran, and nothing that reached them differed."""
        ran = {name for one in self.subjects if not one.differences and not one.problem for name in one.run}
        return ran - self.different

    @property
    def not_verified(self) -> list[str]:
        return [name for name in self.functions if name not in self.verified and name not in self.different]

    @property
    def largest(self) -> float:
        return max((one.largest for one in self.subjects if not one.problem), default=0.0)

    @property
    def largest_exact(self) -> float:
        return max((one.largest_exact for one in self.subjects if not one.problem), default=0.0)

    def why_not(self, name: str) -> str:
        """Why a function was not run, as far as is known."""
        if self.error:
            return self.error
        owner = name.split(".")[0]
        problems = [one.problem for one in self.subjects if one.problem and one.what == owner]
        problems += [one.problem for one in self.subjects if one.problem]
        return problems[0] if problems else "nothing that could be made runs it; `--entry` names a function that does"

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "verified": sorted(self.verified),
            "different": sorted(self.different),
            "not_verified": {name: self.why_not(name) for name in self.not_verified},
            "largest_error": self.largest,
            "largest_error_float64": self.largest_exact,
            "subjects": [vars(one) for one in self.subjects],
        }


def is_provable(finding: Finding) -> bool:
    """Kernels that were adopted can be run beside what they replaced; other edits have `strop verify`."""
    return finding.code.startswith("STR7")


def _is_open(finding: Finding, turned_down: frozenset[tuple[str, str]]) -> bool:
    return is_provable(finding) and (finding.place.file, finding.function) not in turned_down


def _is_proven_or_other(finding: Finding, proven: frozenset[tuple[str, str]]) -> bool:
    return not is_provable(finding) or (finding.place.file, finding.function) in proven


def proofs(done: Fixed, *, entry: str = "", limits: Limits | None = None, python: str = sys.executable) -> list[Proof]:
    """A proof for every file that adopted kernels change."""
    found = []
    for file in done.files:
        findings = [f for f in done.applied if is_provable(f) and any(e.place.file == file for e in f.edits)]
        if findings:
            found.append(prove(file, done.plan.after[file], findings, entry=entry, limits=limits, python=python))
    return found


def fix_verified(
    look: Callable[[], Scan],
    *,
    unsafe: bool,
    entry: str = "",
    limits: Limits | None = None,
    python: str = sys.executable,
) -> tuple[Fixed, list[Proof]]:
    """The kernels that were run and found equal; edits of other kinds are planned as they are without a proof."""
    turned_down: set[tuple[str, str]] = set()
    made: list[Proof] = []
    for _ in range(_ROUNDS):
        done = fixing.fix(
            look,
            unsafe=unsafe,
            accept=partial(_is_open, turned_down=frozenset(turned_down)),
        )
        made = proofs(done, entry=entry, limits=limits, python=python)
        bad = {(p.file, name) for p in made for name in p.functions if name not in p.verified}
        if not bad:
            break
        turned_down |= bad
    proven = frozenset((p.file, name) for p in made for name in p.verified)
    whole = fixing.fix(look, unsafe=unsafe, accept=partial(_is_proven_or_other, proven=proven))
    return whole, made


def prove(
    file: str,
    after: str,
    findings: Sequence[Finding],
    *,
    entry: str = "",
    limits: Limits | None = None,
    python: str = sys.executable,
) -> Proof:
    """Run a file as it is on disk and as `after` says, and compare."""
    limits = limits or Limits()
    functions = tuple(dict.fromkeys(finding.function for finding in findings))
    path = Path(file).resolve()
    module, root = module_of(path)
    with tempfile.TemporaryDirectory(prefix="strop-prove-") as folder:
        text_file, answer_file, task_file = (Path(folder) / name for name in ("after.py", "answer.json", "job.json"))
        text_file.write_text(after, encoding="utf-8")
        task = {
            "file": str(path),
            "module": module,
            "path": [root],
            "after": str(text_file),
            "folder": folder,
            "functions": functions,
            "entry": entry,
            "seed": limits.seed,
            "answer": str(answer_file),
        }
        task_file.write_text(json.dumps(task), encoding="utf-8")
        printed_file, errors_file = Path(folder) / "printed.txt", Path(folder) / "errors.txt"
        job = Job("proof", file, str(path), module)
        with printed_file.open("wb") as printed, errors_file.open("wb") as errors:
            command = [python, "-X", "utf8", "-c", _START, str(_CHILD), str(task_file)]
            try:
                code = watched(command, printed, errors, limits, job, "in both versions")
            except Problem as problem:
                return Proof(file, functions, error=problem.message, findings=tuple(findings))
        if not answer_file.exists():
            error = f"the process ended with code {code}: {tail(errors_file)}"
            return Proof(file, functions, error=error, findings=tuple(findings))
        answer = json.loads(answer_file.read_text(encoding="utf-8"))
    subjects = tuple(
        Subject(
            one["what"],
            tuple(one["run"]),
            tuple(one["compared"]),
            tuple(one["differences"]),
            one["problem"],
            one.get("largest", 0.0),
            one.get("largest_exact", 0.0),
        )
        for one in answer["proofs"]
    )
    return Proof(file, functions, subjects, answer["error"] or "", tuple(findings))
