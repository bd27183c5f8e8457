"""Results of earlier scans on disk, under a digest of everything that they depend on.

What a scan says of a file depends on the files that it is scanned with, on files that these import from outside the
scan, on the settings, on Strop's own rules and on Python's grammar. All but the second are in the key; the files that
were followed are stored with the result and compared when it is asked for.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Iterable
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from strop.core.cache import Cache
from strop.source.facts import Edit, Finding, Function, Place, Reason, Scan, Skipped
from strop.source.project.files import read_bytes

_FACTS = [f.name for f in fields(Function) if f.name != "reasons"]
_NOTHING = "-"


class Store:
    """Scans in a `Cache`; anything damaged, foreign or unwritable is a miss."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache

    def get(self, key: str) -> Scan | None:
        content = self.cache.get(key)
        if content is None:
            return None
        try:
            scan, followed = _load(json.loads(zlib.decompress(content)))
        except (ValueError, TypeError, KeyError, IndexError, zlib.error):
            self.cache.discard(key, "is no scan")
            return None
        if any(digest_of(file) != digest for file, digest in followed.items()):
            return None
        return scan

    def put(self, key: str, scan: Scan) -> None:
        stored = _dump(scan, {file: digest_of(file) for file in scan.followed})
        text = json.dumps(stored, ensure_ascii=True, separators=(",", ":"))
        self.cache.put(key, zlib.compress(text.encode(), 1))


def key_of(contents: Iterable[tuple[str, str]], settings: str) -> str:
    """The key of a scan: names and digests of its files, and the settings that it was made with."""
    digest = hashlib.sha256(f"{_ourselves()}\0{settings}\0".encode())
    for file, content in contents:
        digest.update(f"{file}\0{content}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def digest_of(file: str) -> str:
    """The digest of a file's content; a mark of its own when it cannot be read."""
    data = read_bytes(file)
    return _NOTHING if isinstance(data, Skipped) else hashlib.sha256(data).hexdigest()


@lru_cache(maxsize=1)
def _ourselves() -> str:
    digest = hashlib.sha256(sys.version.encode())
    here = Path(__file__).parents[1]
    for file in sorted(path for path in here.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        digest.update(f"{file.relative_to(here)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _dump(scan: Scan, followed: dict[str, str]) -> dict[str, Any]:
    names = _Names()
    return {
        "functions": [
            [[getattr(function, name) for name in _FACTS], [_reason(reason, names) for reason in function.reasons]]
            for function in scan.functions
        ],
        "findings": [_finding(finding, names) for finding in scan.findings],
        "skipped": [[s.file, s.code, s.message, s.line] for s in scan.skipped],
        "lines": scan.lines,
        "files": scan.files,
        "notes": scan.notes,
        "followed": followed,
        "names": names.known,
    }


def _reason(reason: Reason, names: _Names) -> list[Any]:
    chain = [names.place(place) for place in reason.chain]
    return [reason.code, reason.message, names.place(reason.place), chain]


def _finding(finding: Finding, names: _Names) -> list[Any]:
    return [
        finding.code,
        finding.rule,
        names.place(finding.place),
        finding.function,
        finding.message,
        finding.safety,
        [[names.place(edit.place), edit.text] for edit in finding.edits],
        list(finding.imports),
        finding.estimated_gain,
        finding.gain_reason,
        list(finding.assumptions),
        finding.worth,
        finding.environment,
    ]


class _Names:
    """File names by number: most places of a result lie in the same few files."""

    def __init__(self) -> None:
        self.known: list[str] = []
        self._numbers: dict[str, int] = {}

    def place(self, place: Place) -> list[int]:
        number = self._numbers.setdefault(place.file, len(self.known))
        if number == len(self.known):
            self.known.append(place.file)
        return [number, place.line, place.column, place.end_line, place.end_column]


def _load(stored: dict[str, Any]) -> tuple[Scan, dict[str, str]]:
    names = stored["names"]

    def place(at: list[int]) -> Place:
        return Place(names[at[0]], at[1], at[2], at[3], at[4])

    scan = Scan(lines=stored["lines"], files=stored["files"], followed=list(stored["followed"]))
    scan.notes = list(stored["notes"])
    for facts, reasons in stored["functions"]:
        function = Function(**dict(zip(_FACTS, facts)))
        function.reasons = [Reason(c, m, place(at), tuple(place(p) for p in chain)) for c, m, at, chain in reasons]
        scan.functions.append(function)
    for code, rule, at, function_name, message, safety, edits, imports, gain, *more in stored["findings"]:
        changes = tuple(Edit(place(where), text) for where, text in edits)
        why, assumptions, worth, environment = more
        known = code, rule, place(at), function_name, message, safety, changes, tuple(imports), gain
        variables = tuple((name, value) for name, value in environment)
        scan.findings.append(Finding(*known, why, tuple(assumptions), worth, variables))
    scan.skipped = [Skipped(*row) for row in stored["skipped"]]
    return scan, dict(stored["followed"])
