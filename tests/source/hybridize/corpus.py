"""Reads the cases of `tf_cases/`: small programs that carry what is true of their functions in their first comment.

A case is one file, or a folder when it needs several modules. The comment block at the top of each file says in prose
what the case shows and then has one line per function:

    # step: tensor computes -> to_graph
    # Net.call: tensor effects computes -> no (side_effects)
    # outer.inner: tensor? ~computes -> no?

Words before the arrow are the facts that hold: `tensor` and `primitive` (parameters), `effects`, `recursive`, `computes`
(tensor computation), `hybrid` (a graph function already). A word that is absent must be false, `word?` must be null
(cannot be determined), `~word` is left open because the specification leaves it open. `assumed` asks for at least one
assumption. After the arrow stands the verdict: `a|b` either of two, `no` for `keep` or `no_benefit`, `no?` for these or
`unknown`, `unsafe` for anything but a safe `to_graph`, `~` for open. Reasons follow in parentheses, by name.

Two more lines steer a case: `# option: no-speculate`, and `# truth: skip` when the program cannot be run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CASES = Path(__file__).parent / "tf_cases"

FACTS = {
    "tensor": "tensor_parameter",
    "primitive": "primitive_parameter",
    "effects": "side_effects",
    "recursive": "recursive",
    "computes": "tensor_computation",
    "hybrid": "graph",
}
SHORTHAND = {
    "no": {"keep", "no_benefit"},
    "no?": {"keep", "no_benefit", "unknown"},
}
VERDICTS = {"to_graph", "to_eager", "add_signature", "lift_primitive", "no_benefit", "keep", "unknown"}
OPEN = "open"

_EXPECTATION = re.compile(r"#\s+([A-Za-z_][\w.]*):\s*((?:[~\w?]+\s+)*)->\s*([\w|?~]+)(?:\s+\(([\w, ]+)\))?\s*$")
_SETTING = re.compile(r"#\s+(option|truth):\s*([\w-]+)\s*$")


@dataclass(frozen=True)
class Expected:
    """What must be said of one function. A fact is True, False, None (cannot be determined) or `OPEN`."""

    file: Path
    function: str
    facts: dict[str, bool | str | None]
    verdicts: frozenset[str]  #: empty: open; `unsafe` stands alone
    reasons: tuple[str, ...]
    assumed: bool


@dataclass
class Case:
    name: str
    path: Path
    files: list[Path]
    expected: list[Expected] = field(default_factory=list)
    options: frozenset[str] = frozenset()
    truth: str = "run"

    @property
    def entry(self) -> Path:
        return self.path if self.path.is_file() else self.path / "main.py"


def cases(root: Path = CASES) -> Iterator[Case]:
    for path in sorted(root.iterdir()):
        if path.name.startswith((".", "__")):
            continue
        if path.is_dir() or path.suffix == ".py":
            yield read(path)


def read(path: Path) -> Case:
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*.py") if "__pycache__" not in p.parts)
    case = Case(path.stem, path, files)
    options: set[str] = set()
    for file in files:
        for line in _header(file):
            if setting := _SETTING.match(line):
                if setting[1] == "option":
                    options.add(setting[2])
                else:
                    case.truth = setting[2]
            elif "->" in line:
                case.expected.append(_expected(file, line))
    case.options = frozenset(options)
    if not case.expected:
        raise ValueError(f"{path}: the case expects nothing")
    return case


def _header(file: Path) -> Iterator[str]:
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            return
        yield line


def _expected(file: Path, line: str) -> Expected:
    found = _EXPECTATION.match(line)
    if not found:
        raise ValueError(f"{file}: cannot read {line!r}")
    facts: dict[str, bool | str | None] = dict.fromkeys(FACTS.values(), False)
    assumed = False
    for word in found[2].split():
        if word == "assumed":
            assumed = True
            continue
        fact = FACTS[word.strip("~?")]
        facts[fact] = OPEN if word[0] == "~" else None if word[-1] == "?" else True
    reasons = tuple(r.strip() for r in (found[4] or "").split(",") if r.strip())
    return Expected(file, found[1], facts, _verdicts(file, found[3]), reasons, assumed)


def _verdicts(file: Path, text: str) -> frozenset[str]:
    if text == "~":
        return frozenset()
    if text in ("unsafe", *SHORTHAND):
        return frozenset(SHORTHAND.get(text, {text}))
    verdicts = frozenset(text.split("|"))
    if unknown := verdicts - VERDICTS:
        raise ValueError(f"{file}: no such verdict: {', '.join(sorted(unknown))}")
    return verdicts
