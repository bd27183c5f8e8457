"""Applies edits to files: spans are replaced, imports added, and everything else stays byte for byte.

Comments, formatting, line ends, encoding and byte order mark are kept, because only the spans of an edit are touched.
A finding is applied whole or not at all, also when its edits lie in several files; of two that overlap, the first in
the order of places wins and the other says so. What comes out is compiled (never run) before it is written, and a file
is replaced in one step: there is never half a file on disk.
"""

from __future__ import annotations

import ast
import difflib
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from strop.core.problem import Problem
from strop.source.facts import Edit, Finding, Place, Skipped
from strop.source.fix.imports import Imports
from strop.source.project.files import Text, parse, read, read_bytes

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Refused:
    """A finding whose edits were not applied, and why."""

    finding: Finding
    why: str


@dataclass
class Plan:
    """New texts of the files that change, not yet written."""

    before: dict[str, Text] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    applied: list[Finding] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        return sorted(file for file, text in self.after.items() if text != self.before[file].text)

    def diff(self) -> str:
        """A unified diff that `git apply` and `patch -p1` read."""
        return "".join(_diff(file, self.before[file].text, self.after[file]) for file in self.files)

    def write(self) -> list[str]:
        """Replace the files, each in one step; refuses a file that changed since it was read."""
        for file in self.files:
            old = self.before[file]
            if read_bytes(file) != old.encode(old.text):
                raise Problem("STR006", f"{file} changed while it was looked at; nothing more was written")
            replace_file(file, old.encode(self.after[file]))
        return self.files


def plan(findings: Iterable[Finding], *, reading: Callable[[str], Text | Skipped] = read) -> Plan:
    """What the files look like with the edits of these findings."""
    made = Plan()
    wanted = sorted((f for f in findings if f.edits), key=lambda f: (f.place, f.code, f.message))
    broken: set[str] = set()
    for finding in wanted:
        for file in sorted({edit.place.file for edit in finding.edits} - set(made.before) - broken):
            text = reading(file)
            if isinstance(text, Skipped):
                broken.add(file)
            else:
                made.before[file] = text
    documents = {file: _Document(text) for file, text in made.before.items()}
    for finding in wanted:
        why = _refusal(finding, documents, broken)
        if why:
            made.refused.append(Refused(finding, why))
            continue
        for file, edits in _by_file(finding).items():
            documents[file].accept(finding, edits)
        made.applied.append(finding)
    for file, document in documents.items():
        made.after[file] = document.result()
    return _sound(made, documents, reading)


def _refusal(finding: Finding, documents: dict[str, _Document], broken: set[str]) -> str:
    for file, edits in _by_file(finding).items():
        if file in broken:
            return f"{file} cannot be read"
        why = documents[file].refuses(finding, edits)
        if why:
            return why
    return ""


def _sound(made: Plan, documents: dict[str, _Document], reading: Callable[[str], Text | Skipped]) -> Plan:
    """The plan itself when every result compiles; otherwise a plan without the findings that break their file."""
    guilty: list[Refused] = []
    for file in made.files:
        if not _breaks(made.before[file], made.after[file]):
            continue
        suspects = [f for f in made.applied if file in _by_file(f)]
        alone = [f for f in suspects if _breaks(made.before[file], _Document.with_only(made.before[file], f))]
        guilty += [Refused(f, f"{file} would not be valid Python afterwards") for f in alone or suspects]
    if not guilty:
        return made
    out = {id(refused.finding) for refused in guilty}
    again = plan([f for f in made.applied if id(f) not in out], reading=reading)
    again.refused = [*made.refused, *again.refused, *guilty]
    return again


def _breaks(before: Text, after: str) -> bool:
    tree = parse(replace(before, text=after))
    if isinstance(tree, Skipped):
        return True
    try:
        before.encode(after)
    except UnicodeEncodeError:
        return True
    return not _compiles(tree) and _compiles(parse(before))


def _compiles(tree: ast.Module | Skipped) -> bool:
    if isinstance(tree, Skipped):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(tree, "<edited>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _by_file(finding: Finding) -> dict[str, list[Edit]]:
    files: dict[str, list[Edit]] = {}
    for edit in finding.edits:
        files.setdefault(edit.place.file, []).append(edit)
    return files


class _Document:
    """One file and the replacements that were accepted for it, as character spans of the text before."""

    def __init__(self, text: Text) -> None:
        self.text = text.text
        self.starts = [0, *(found.end() for found in _LINE_END.finditer(self.text))]
        end = _LINE_END.search(self.text)
        self.newline = end[0] if end else "\n"
        tree = parse(text)
        self.imports = None if isinstance(tree, Skipped) else Imports(tree)
        self.spans: list[tuple[int, int, str]] = []
        self.added: list[str] = []

    @classmethod
    def with_only(cls, text: Text, finding: Finding) -> str:
        document = cls(text)
        document.accept(finding, _by_file(finding)[text.file])
        return document.result()

    def refuses(self, finding: Finding, edits: Sequence[Edit]) -> str:
        """Why these edits cannot be applied on top of what was accepted."""
        if self.imports is None:
            return f"{edits[0].place.file} is not valid Python"
        for statement in finding.imports:
            why = self.imports.conflict(statement)
            if why:
                return why
        for edit in edits:
            span = self._span(edit.place)
            if span is None:
                return f"{edit.place} lies outside the file: it changed since it was scanned"
            if any(_clash((*span, self._renamed(finding, edit)), other) for other in self.spans):
                return "it overlaps another edit; run again to apply it"
        return ""

    def accept(self, finding: Finding, edits: Sequence[Edit]) -> None:
        assert self.imports is not None
        for edit in edits:
            span = self._span(edit.place)
            assert span is not None
            replacement = (*span, self._renamed(finding, edit))
            if replacement not in self.spans:
                self.spans.append(replacement)
        first = min(edit.place.line for edit in edits)
        for statement in finding.imports:
            if not self.imports.has(statement, first) and statement not in self.added:
                self.added.append(statement)

    def result(self) -> str:
        spans = sorted(self.spans)
        if self.added and self.imports is not None:
            spans = sorted([self._import_span(), *spans], key=lambda span: span[:2])  # stable: the import goes first
        parts, at = [], 0
        for start, stop, text in spans:
            parts += [self.text[at:start], text]
            at = stop
        return "".join([*parts, self.text[at:]])

    def _renamed(self, finding: Finding, edit: Edit) -> str:
        """The text of an edit in the file's own names and line ends."""
        assert self.imports is not None
        text = self.imports.in_own_names(edit.text, finding.imports)
        return _LINE_END.sub(lambda _: self.newline, text)

    def _span(self, place: Place) -> tuple[int, int] | None:
        start = self._index(place.line, place.column)
        stop = self._index(place.end_line, place.end_column) if place.end_line else start
        return None if start is None or stop is None or stop < start else (start, stop)

    def _index(self, line: int, column: int) -> int | None:
        """Lines from 1, columns in UTF-8 bytes from 0, as `ast` counts them."""
        if line == len(self.starts) + 1 and column == 0 and line > 1:
            return len(self.text)
        if not 1 <= line <= len(self.starts):
            return None
        start = self.starts[line - 1]
        stop = self.starts[line] if line < len(self.starts) else len(self.text)
        content = self.text[start:stop]
        if content.isascii():
            return start + column if column <= len(content) else None
        data = content.encode("utf-8", "surrogatepass")
        if column > len(data):
            return None
        try:
            return start + len(data[:column].decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError:  # inside a character: the place belongs to another text
            return None

    def _import_span(self) -> tuple[int, int, str]:
        assert self.imports is not None
        line, blank = self.imports.where_to_add(self.text)
        at = self.starts[line] if line < len(self.starts) else len(self.text)
        lines = "".join(statement + self.newline for statement in self.added)
        before = self.newline if at and self.text[at - 1] not in "\r\n" else ""
        lead = self.newline if blank == "before" else ""
        rest = self.text[at:]
        follow = self.newline if blank and rest.strip() and not _LINE_END.match(rest) else ""
        return at, at, before + lead + lines + follow


def _clash(one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    """Equal replacements are one; two insertions at a point or spans with a common character clash."""
    if one == other:
        return False
    if one[0] == one[1] and other[0] == other[1]:
        return one[0] == other[0]
    return one[0] < other[1] and other[0] < one[1]


def replace_file(file: str, data: bytes) -> None:
    """Put new content where a file is, in one step and with its permissions; links stay links."""
    target = Path(os.path.realpath(file))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        Path(name).chmod(target.stat().st_mode & 0o7777 if target.exists() else 0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _diff(file: str, before: str, after: str) -> str:
    name = file.replace(os.sep, "/").removeprefix("./").lstrip("/")
    old, new = _lines(before), _lines(after)
    parts = []
    for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", n=3):
        parts.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(parts)


def _lines(text: str) -> list[str]:
    """Lines at `\\n` only, as diff tools count them."""
    return [line for line in re.split(r"(?<=\n)", text) if line]
