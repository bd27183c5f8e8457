"""Strop's matcher against the oracle, place by place: precision and recall per family, and where they disagree.

    python benchmarks/oracle_compare.py oracle.json                       # prints the table and the disagreements
    python benchmarks/oracle_compare.py oracle.json --doc docs/adopt_oracle.md

A *true place* is lines of a function where some model ran the computation. It is *found* when a match of its family
overlaps it. A match is *right* when it overlaps a true place, a *variant* when the oracle saw something close to the
family there (such as scores that pass through tanh before the softmax) and the match has no edit, *unknown* when one of
its operations stands on a line that no model executed, and *wrong* otherwise. A match that Strop reports and refuses to
edit is a match.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
import time
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from forked import run_forked

#: what a rule says of a place beyond its family, where the oracle calls that near: then it is right about it
CLAIMS = {
    "attention-with-steps-between": "near:",
    "swish-with-a-factor": "near:configured",
    "separate-projections": "near:elsewhere",
}
FAMILIES = ("attention", "norm", "activation", "gated_mlp", "rotary", "qkv", "conv_bn")
HERE = Path(__file__).resolve().parent
PAGE = """# What the matcher finds, and what really runs

{models} model types of transformers {version} were built from tiny configurations with random weights and run in
evaluation and in training mode with eager attention, and every activation of `ACT2FN` with them. Every torch function
was recorded, and recognisers that know nothing of Strop's rules decided on values what was computed where: a norm is
what gives the numbers of a norm when that part of the recording is run again on other data. The places are compared
with the matches of `strop scan` in the same {files} files.

    python benchmarks/oracle.py --out oracle.json
    python benchmarks/oracle_compare.py oracle.json --doc docs/adopt_oracle.md

{table}

- *True places* are lines of a function where some model ran the computation; places in a file count once, however
  many layers and model types run them. *Found*: a match of the family overlaps them.
- *Matches* include those that Strop reports and does not edit, with a reason. *Wrong*: the lines ran and computed
  something else. *Unknown*: an operation of the match stands on a line that no model executed. *Variant*: reported
  without an edit where the oracle saw something close to the family, not the thing itself; such *near places* count
  neither for nor against. A match with an edit at a near place is wrong. *Strict precision* counts variants too: as
  right where the rule says itself that it is about such a thing (attention with steps of its own between scores and
  softmax, SiLU with a factor inside, three projections of one input whatever they are for), otherwise as wrong.
- `attention` is softmax(s·QKᵀ + B)·V with one number s; scores that go through anything else (a soft cap, sinks that
  are appended, weights per head) are variants.
- `norm` and `activation` are those written out in arithmetic; calls of library functions do not count. An activation
  whose constant comes from the configuration is a variant.
- `gated_mlp` is act(x·W1)·(x·W2) that leads to a projection; the two projections may be one, in halves.
- `qkv` is three or more linear layers on the very same tensor, in one call of a function, whose results are the
  queries, keys and values of an attention with a softmax. Other groups of three are variants, and so are lines where
  another run had keys and values of another tensor (cross attention).
- `conv_bn` is a convolution whose result goes into batch norm and nowhere else.

## Where they disagree

{left}

## Model types

{names}
"""
Span = tuple[str, int, int]  #: file, first and last line


@dataclass(frozen=True)
class Match:
    """What the matcher reports."""

    family: str
    rule: str
    file: str
    function: str
    first: int
    last: int
    lines: tuple[tuple[str, int], ...]  #: where its operations stand
    message: str
    fixable: bool

    def __str__(self) -> str:
        return f"`{self.file}:{self.first}-{self.last}`, `{self.function}`: {self.message} ({self.rule})"


@dataclass
class Truth:
    """A place where models ran the computation."""

    family: str
    file: str
    function: str
    first: int
    last: int
    spans: set[Span] = field(default_factory=set)
    variants: set[str] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    ops: tuple[str, ...] = ()

    @property
    def near(self) -> bool:
        """Whether something speaks against it in some run."""
        seen = self.variants - {"near:elsewhere"} or self.variants
        return any(variant.startswith("near:") for variant in seen)

    def __str__(self) -> str:
        kinds = ", ".join(sorted(self.variants))
        models = ", ".join(sorted(self.models)[:3])
        ran = " ".join(self.ops[:12])
        return f"`{self.file}:{self.first}-{self.last}`, `{self.function}`: {kinds}; {models} ran {ran}"


def true_places(observed: dict[str, Any]) -> list[Truth]:
    """The oracle's places over all model types; the same lines count once."""
    places: dict[tuple[Any, ...], Truth] = {}
    for each in observed["places"]:
        main = (each["file"], each["first"], each["last"])
        parts = [(file, first, last) for file, _, first, last in each["parts"]]
        functions = {(file, function) for file, function, _, _ in each["parts"]}
        whole = (each["file"], each["function"]) in functions or main[2] - main[1] < 40
        key = (each["family"], each["file"], each["function"], main[1], main[2])
        place = places.setdefault(key, Truth(each["family"], each["file"], each["function"], main[1], main[2]))
        place.spans.update([main, *parts] if whole else parts)
        place.variants.add(each["variant"])
        place.models.add(each["model_type"])
        place.ops = tuple(each["ops"])
    return _merged(places.values())


def _merged(places: Iterable[Truth]) -> list[Truth]:
    """Places of one function that overlap are one."""
    by_function: dict[tuple[str, str, str], list[Truth]] = defaultdict(list)
    for place in places:
        by_function[place.family, place.file, place.function].append(place)
    merged = []
    for group in by_function.values():
        group.sort(key=lambda p: (p.first, p.last))
        kept: list[Truth] = []
        for place in group:
            if kept and place.first <= kept[-1].last:
                last = kept[-1]
                last.last = max(last.last, place.last)
                last.spans |= place.spans
                last.variants |= place.variants
                last.models |= place.models
            else:
                kept.append(place)
        merged += kept
    return sorted(merged, key=lambda p: (p.file, p.first))


def matches(package: str, files: list[str]) -> list[Match]:
    """What the matcher finds in these files, by every rule for the CPU, also those that are off by default."""
    chunks = {str(n): files[n::8] for n in range(8)}
    found: dict[tuple[Any, ...], Match] = {}
    for name, result, problem in run_forked(
        lambda n: _scan(package, chunks[n]), list(chunks), workers=2, seconds=900, full=True
    ):
        if result is None:
            raise RuntimeError(f"scan {name}: {problem}")
        for match in result:
            found.setdefault((match.family, match.file, match.first, match.last, match.rule), match)
    return sorted(found.values(), key=lambda m: (m.file, m.first, m.family))


def kept_matches(path: str | None, package: str, files: list[str]) -> list[Match]:
    """The matches of an earlier scan, where there is one."""
    if path and Path(path).exists():
        kept = json.loads(Path(path).read_text(encoding="utf-8"))
        return [Match(**one | {"lines": tuple((file, line) for file, line in one["lines"])}) for one in kept]
    found = matches(package, files)
    if path:
        Path(path).write_text(json.dumps([asdict(match) for match in found]), encoding="utf-8")
    return found


def _scan(package: str, files: list[str]) -> list[Match]:
    from strop.source.adopt import find, rulebook
    from strop.source.adopt.extract import Architecture
    from strop.source.adopt.report import finding
    from strop.source.project.modules import Project

    names = [str(Path(package) / file) for file in files]
    rules = [rule for rule in rulebook.load() if rule.family in FAMILIES and "cpu" in rule.targets]
    found = []
    for match in find.in_project(Architecture(Project(names, [str(Path(package).parent)])), rules):
        said = finding(match)
        lines = {(_relative(node.place.file, package), node.place.line) for node in match.nodes}
        place = said.place
        found.append(
            Match(
                match.rule.family,
                said.rule,
                _relative(place.file, package),
                said.function,
                place.line,
                place.end_line or place.line,
                tuple(sorted(lines)),
                said.message,
                said.fixable,
            )
        )
    return found


def _relative(file: str, package: str) -> str:
    return str(Path(file)).removeprefix(str(Path(package))).lstrip("/")


@dataclass
class Score:
    """The figures of one family."""

    true: list[Truth] = field(default_factory=list)
    missed: list[Truth] = field(default_factory=list)
    near: list[Truth] = field(default_factory=list)
    right: list[Match] = field(default_factory=list)
    wrong: list[Match] = field(default_factory=list)
    unknown: list[Match] = field(default_factory=list)
    variant: list[Match] = field(default_factory=list)
    overstated: list[Match] = field(default_factory=list)  #: variants that the rule does not say it is about

    @property
    def precision(self) -> float:
        return len(self.right) / max(len(self.right) + len(self.wrong), 1)

    @property
    def strict(self) -> float:
        """With every variant counted, as wrong where the rule claims the thing itself."""
        right = len(self.right) + len(self.variant) - len(self.overstated)
        return right / max(right + len(self.wrong) + len(self.overstated), 1)

    @property
    def recall(self) -> float:
        return 1 - len(self.missed) / max(len(self.true), 1)


def compare(observed: dict[str, Any], found: list[Match], files: Collection[str]) -> dict[str, Score]:
    """The score of every family; only places in the scanned files count."""
    executed = {file: set(lines) for file, lines in observed["lines"].items()}
    scores = {family: Score() for family in FAMILIES}
    places: dict[str, list[Truth]] = defaultdict(list)
    for place in true_places(observed):
        if place.file in files:
            places[place.family].append(place)
    hit: set[int] = set()
    for match in found:
        score = scores[match.family]
        here = [place for place in places[match.family] if _overlap(match, place)]
        hit.update(map(id, here))
        if any(not place.near for place in here):
            score.right.append(match)
        elif here and not match.fixable:
            score.variant.append(match)
            if not _claimed(match, here):
                score.overstated.append(match)
        elif not all(line in executed.get(file, ()) for file, line in match.lines):
            score.unknown.append(match)
        else:
            score.wrong.append(match)
    for family, score in scores.items():
        score.true = [place for place in places[family] if not place.near]
        score.near = [place for place in places[family] if place.near]
        score.missed = [place for place in score.true if id(place) not in hit]
    return scores


def _claimed(match: Match, here: Iterable[Truth]) -> bool:
    """Whether what ran is what the rule says of itself, in every run."""
    claim = CLAIMS.get(match.rule)
    seen = {variant for place in here for variant in place.variants if variant.startswith("near:")}
    return claim is not None and all(variant.startswith(claim) for variant in seen)


def _overlap(match: Match, place: Truth) -> bool:
    here = ((match.file, match.first, match.last), *((file, line, line) for file, line in match.lines))
    return any(a[0] == b[0] and a[1] <= b[2] and b[1] <= a[2] for a in here for b in place.spans)


def table(scores: dict[str, Score]) -> str:
    lines = [
        "| family | true places | found | recall | matches | right | wrong | precision | variant | strict precision "
        "| unknown | near places |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for family, s in scores.items():
        total = len(s.right) + len(s.wrong) + len(s.unknown) + len(s.variant)
        lines.append(
            f"| {family} | {len(s.true)} | {len(s.true) - len(s.missed)} | {s.recall:.1%} | {total} | {len(s.right)} "
            f"| {len(s.wrong)} | {s.precision:.1%} | {len(s.variant)} | {s.strict:.1%} | {len(s.unknown)} "
            f"| {len(s.near)} |"
        )
    return "\n".join(lines)


def disagreements(scores: dict[str, Score]) -> str:
    lines = []
    for family, score in scores.items():
        lines += [f"{family}: missed {place}" for place in score.missed]
        lines += [f"{family}: wrong {match}" for match in score.wrong]
        lines += [f"{family}: more than it is {match}" for match in score.overstated]
    return "\n".join(lines)


def page(observed: dict[str, Any], files: list[str], scores: dict[str, Score]) -> str:
    """The page of the documentation."""
    left = "\n".join(
        textwrap.fill(f"- {line}", 118, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
        for line in disagreements(scores).splitlines()
    )
    names = [name for name in observed["models"] if name != "activations"]
    return PAGE.format(
        models=len(names),
        version=observed["transformers"],
        files=len(files),
        table=table(scores),
        left=left or "Nowhere.",
        names=textwrap.fill(", ".join(names), 118, break_on_hyphens=False),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("observed", help="what oracle.py wrote")
    parser.add_argument("--doc", help="write the table to this file")
    parser.add_argument("--matches", help="keep the matches in this file, and read them from it when it exists")
    parser.add_argument("--only", nargs="*", default=[], help="only files whose path contains one of these")
    parser.add_argument("--list", help="write the disagreements to this file instead of printing them")
    given = parser.parse_args()
    observed = json.loads(Path(given.observed).read_text(encoding="utf-8"))
    files = sorted(file for file in observed["lines"] if "/modeling_" in file or file == "activations.py")
    files = [file for file in files if not given.only or any(f"/{part}/" in file for part in given.only)]
    started = time.perf_counter()
    found = kept_matches(given.matches, observed["package"], files)
    scores = compare(observed, found, set(files))
    print(
        f"{len(observed['models'])} model types, {len(files)} files, scanned in {time.perf_counter() - started:.0f} s\n"
    )
    print(table(scores))
    text = disagreements(scores)
    if given.list:
        Path(given.list).write_text(text + "\n", encoding="utf-8")
    else:
        print(f"\n{text}")
    if given.doc:
        Path(given.doc).write_text(page(observed, files, scores), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
