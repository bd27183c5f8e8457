"""Tokens of the architecture language, and errors that point at the character."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from strop.core.problem import Problem
from strop.source.facts import Place

_TOKEN = re.compile(
    r"""(?P<space>[ \t]+|\#.*)
      | (?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
      | (?P<text>"[^"\n]*"|'[^'\n]*')
      | (?P<name>[A-Za-z][A-Za-z0-9_]*|_[A-Za-z0-9_]*)
      | (?P<sign>[()=,|?*:.])""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    kind: str  #: number, text, name, sign or end
    text: str
    place: Place

    @property
    def value(self) -> Any:
        return ast.literal_eval(self.text)


@dataclass(frozen=True)
class Line:
    """A line of a rule file."""

    file: str
    number: int
    text: str

    @property
    def indented(self) -> bool:
        return self.text[:1] in (" ", "\t")

    def place(self, column: int = 0, length: int = 1) -> Place:
        return Place(self.file, self.number, column, self.number, column + length)

    def problem(self, message: str, column: int = 0, help: str = "") -> Problem:
        """An error with the line and a caret below the column."""
        drawn = f"{message}\n    {self.text.rstrip()}\n    {' ' * column}^"
        return Problem("STR010", drawn, where=self.place(column), help=help)


def tokens(line: Line, start: int = 0) -> list[Token]:
    """The tokens of a line from a column on; the last is `end`."""
    found: list[Token] = []
    at = start
    while at < len(line.text):
        match = _TOKEN.match(line.text, at)
        if match is None:
            raise line.problem(f"`{line.text[at]}` has no meaning here", at)
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match[0], line.place(at, len(match[0]))))
        at = match.end()
    found.append(Token("end", "", line.place(len(line.text.rstrip()))))
    return found
