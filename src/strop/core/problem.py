"""Errors for people: a code, the thing, the place, the reason and the next step.

    raise Problem("STR301", "split: `by` must divide 56 or allow a tail, got 0",
                  where=node.origin, help="choose 7, 8, 14 or pass tail=True")

`strop explain STR301` prints the paragraph that `core/codes.py` holds for the code.
"""

from __future__ import annotations

import linecache
from typing import Any

from strop.core.codes import CODES


class Problem(Exception):
    """Something that the user can act upon. `where` is text, or anything with `file` and `line` (an `Origin`)."""

    def __init__(self, code: str, message: str, *, where: object = "", help: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.where = where
        self.help = help

    def __str__(self) -> str:
        parts = [f"{self.code}: {self.message}"]
        if str(self.where):
            parts.append(f"  at {self.where}")
        if self.help:
            parts.append(f"  help: {self.help}")
        return "\n".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.code, self.message, str(self.where), self.help)

    def render(self, *, color: bool = False) -> str:
        """The problem as a terminal shows it, with the source line where it can be read."""
        red, blue, bold, off = ("\033[31;1m", "\033[34;1m", "\033[1m", "\033[0m") if color else ("", "", "", "")
        lines = [f"{red}error[{self.code}]{off}{bold}: {self.message}{off}"]
        if str(self.where):
            lines.append(f"{blue}  -->{off} {self.where}")
            lines += [f"{blue}   |{off}  {text}" for text in self._excerpt()]
        if self.help:
            lines.append(f"{blue}   ={off} help: {self.help}")
        if self.code in CODES:
            lines.append(f"{blue}   ={off} more: strop explain {self.code}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message, "where": str(self.where), "help": self.help}

    def _excerpt(self) -> list[str]:
        file, line = _place(self.where)
        text = linecache.getline(file, line).strip() if file and line else ""
        return [text] if text else []


def _place(where: object) -> tuple[str, int]:
    if isinstance(where, str):
        file, _, line = where.partition(" ")[0].rpartition(":")
        return (file, int(line)) if line.isdecimal() else ("", 0)
    return str(getattr(where, "file", "")), int(getattr(where, "line", 0))


def _rebuild(code: str, message: str, where: str, help: str) -> Problem:
    return Problem(code, message, where=where, help=help)
