"""The lines that findings point at, with columns counted as readers count them."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from strop.source.facts import Place, Scan, Skipped
from strop.source.project.files import read

_LINE_END = re.compile(r"\r\n|\r|\n")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class SourceLines:
    """Reads each file once. A file that is gone by now has no lines."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def line(self, file: str, number: int) -> str:
        lines = self._files.get(file)
        if lines is None:
            text = read(file)
            lines = self._files[file] = [] if isinstance(text, Skipped) else _LINE_END.split(text.text)
        return lines[number - 1] if 1 <= number <= len(lines) else ""

    def columns(self, place: Place) -> tuple[int, int]:
        """The characters, from 0, that a place covers in its first line; the rest of the line for an empty place."""
        line = self.line(place.file, place.line)
        start = _characters(line, place.column)
        one_line = place.end_line in (0, place.line)
        stop = _characters(line, place.end_column) if one_line else 0
        return start, max(stop if stop > start else len(line.rstrip()), start + 1)

    def end_column(self, place: Place) -> int:
        return _characters(self.line(place.file, place.end_line or place.line), place.end_column)

    def carets(self, place: Place) -> tuple[str, str]:
        """A line as a terminal shows it, and the carets below it."""
        line = self.line(place.file, place.line)
        start, stop = self.columns(place)
        before, marked = shown(line[:start]), shown(line[start:stop])
        return shown(line), " " * _width(before) + "^" * max(_width(marked), 1)


def shown(text: str) -> str:
    """Tabs as four blanks, other control characters as a middle dot: a file cannot steer the terminal."""
    return _CONTROL.sub("·", text.replace("\t", "    "))


def notes(scan: Scan) -> dict[tuple[str, str, int, str], list[str]]:
    """For findings: the call chains of reasons with the same code at the same place of the same function."""
    found: dict[tuple[str, str, int, str], list[str]] = {}
    for function in scan.functions:
        for reason in function.reasons:
            if reason.chain:
                key = (function.function, reason.place.file, reason.place.line, reason.code)
                found.setdefault(key, []).append(" → ".join(str(place) for place in (*reason.chain, reason.place)))
    return found


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def uri(file: str) -> str:
    """A path with forward slashes, as reports name it."""
    path = Path(file)
    try:
        path = path.absolute().relative_to(Path.cwd())
    except ValueError:
        pass
    return path.as_posix()


def _characters(line: str, column: int) -> int:
    if line.isascii():
        return min(column, len(line))
    return len(line.encode("utf-8", "replace")[:column].decode("utf-8", "ignore"))


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
