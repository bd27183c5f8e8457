"""Proof of adopted kernels: a file and its edited version are run side by side, in a process of their own.

    proof = prove(file, text, findings)        # what was run, what was compared, the largest difference
    proof.verified                             # the edited functions that ran and gave the same

    done, proofs = fix_proven(look, unsafe=False)   # what `strop fix --write` writes

The process (`verify/child/prove_child.py`) makes models from an entry that the user names, from configuration classes,
or by guessing from names; a function that nothing reached is "not verified", and said to be.
"""

from __future__ import annotations

import ast
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from strop.core.problem import Problem
from strop.source.facts import Finding, Scan
from strop.source.fix import fixing
from strop.source.fix.fixing import Fixed
from strop.source.project.declarations import walk
from strop.verify.as_graphs import Job, Limits, module_of, tail, watched

_ROUNDS = 4  #: an edit that is not verified is left out, and the rest is run again
_CHILD = Path(__file__).parent / "child" / "prove_child.py"
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

    def accepted(self, unproven: bool) -> set[str]:
        """The functions whose edits may be written."""
        return set(self.functions) - self.different if unproven else self.verified

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
        why = problems[0] if problems else "nothing that could be made runs it"
        return f"{why}; `--entry` names a function that returns a model that runs it, and inputs"

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


@dataclass(frozen=True)
class Ways:
    """How to run things."""

    entry: str = ""  #: a function that returns a model and its inputs
    limits: Limits = field(default_factory=Limits)  #: of each file
    python: str = sys.executable
    tell: Callable[[str], None] = lambda file: None  #: what is told of each file before it is run


def fix_proven(
    look: Callable[[], Scan], ways: Ways | None = None, *, unsafe: bool, unproven: bool = False
) -> tuple[Fixed, list[Proof]]:
    """The kernels that were run and found equal, beside edits of other kinds as they are planned without a proof.

    `unproven` also takes kernels that could not be run; what was run and differs is never taken. Nothing is run where
    no kernel is to be adopted.
    """
    ways = ways or Ways()
    first = look()
    known: dict[tuple[str, str], Proof] = {}
    turned_down: set[tuple[str, str]] = set()
    made: dict[str, Proof] = {}
    for _ in range(_ROUNDS):
        open = partial(_is_open, turned_down=frozenset(turned_down))
        done = fixing.fix(look, unsafe=unsafe, accept=open, first=first)
        if not done.files:
            break
        tried = proofs(done, ways, known)
        made |= {proof.file: proof for proof in tried if proof.file not in made}
        bad = {(p.file, name) for p in tried for name in p.functions if name not in p.accepted(unproven)}
        if not bad:
            break
        turned_down |= bad
    else:
        turned_down |= {(p.file, name) for p in tried for name in p.functions}
    whole = fixing.fix(look, unsafe=unsafe, accept=partial(_is_taken, done=done, down=turned_down), first=first)
    return whole, list(made.values())


def to_prove(done: Fixed) -> list[str]:
    """The functions whose kernels have to be run before they are written."""
    return list(dict.fromkeys(f"{f.place.file}:{f.function}" for f in done.applied if is_provable(f)))


def _is_open(finding: Finding, turned_down: frozenset[tuple[str, str]]) -> bool:
    return is_provable(finding) and (finding.place.file, finding.function) not in turned_down


def _is_taken(finding: Finding, done: Fixed, down: set[tuple[str, str]]) -> bool:
    """Edits of other kinds, and kernels of functions whose edits were all run or accepted without."""
    key = finding.place.file, finding.function
    return not is_provable(finding) or (
        key not in down and any((f.place.file, f.function) == key for f in done.applied)
    )


def proofs(done: Fixed, ways: Ways | None = None, known: dict[tuple[str, str], Proof] | None = None) -> list[Proof]:
    """A proof for every file that adopted kernels change; `known` are those of texts that were tried before."""
    known = {} if known is None else known
    found = []
    for file in done.files:
        findings = [f for f in done.applied if is_provable(f) and any(e.place.file == file for e in f.edits)]
        after = done.plan.after[file]
        if findings and (file, after) not in known:
            known[file, after] = prove(file, after, findings, ways)
        if findings:
            found.append(known[file, after])
    return found


def prove(file: str, after: str, findings: Sequence[Finding], ways: Ways | None = None) -> Proof:
    """Run a file as it is on disk and as `after` says, and compare."""
    ways = ways or Ways()
    functions = tuple(dict.fromkeys(finding.function for finding in findings))
    path = Path(file).resolve()
    if runs_when_imported(path):
        error = 'its program runs when it is imported; under `if __name__ == "__main__":` it would not'
        return Proof(file, functions, error=error, findings=tuple(findings))
    ways.tell(file)
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
            "entry": _entry(ways.entry),
            "seed": ways.limits.seed,
            "answer": str(answer_file),
        }
        task_file.write_text(json.dumps(task), encoding="utf-8")
        printed_file, errors_file = Path(folder) / "printed.txt", Path(folder) / "errors.txt"
        job = Job("proof", file, str(path), module)
        with printed_file.open("wb") as printed, errors_file.open("wb") as errors:
            command = [ways.python, "-X", "utf8", "-c", _START, str(_CHILD), str(task_file)]
            try:
                code = watched(command, printed, errors, ways.limits, job, "in both versions")
                error = f"the process ended with code {code}: {_last(errors_file)}"
            except Problem as problem:
                error = problem.message
        if not answer_file.exists():
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


def _entry(entry: str) -> str:
    """`function` of the file itself, or `other.py:function` with the whole path."""
    file, colon, name = entry.rpartition(":")
    return f"{Path(file).resolve()}:{name}" if colon else name


def _last(errors: Path) -> str:
    """Why a process ended, in one line."""
    line = tail(errors).strip().rpartition("\n")[2]
    if "No module named 'torch'" in line:
        return "PyTorch is not installed for this Python; `--python` names the one that has the project's packages"
    return line


def runs_when_imported(path: Path) -> bool:
    """Whether a file is a script: its module level trains, or calls a function that it defines."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return False
    defined = {s.name for s in body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef))}
    return any(_runs(statement, defined) for statement in body)


def _runs(statement: ast.stmt, defined: set[str]) -> bool:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or _is_main(statement):
        return False
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called = statement.value.func
        if isinstance(called, ast.Name) and called.id in defined:
            return True
    trains = (n.func.attr for n in walk([statement]) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
    return any(name in ("backward", "zero_grad", "fit", "parse_args") for name in trains)


def _is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and any(
        isinstance(node, ast.Name) and node.id == "__name__" for node in walk([statement.test])
    )
