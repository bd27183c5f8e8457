"""Text as coloured words: lines of tokens, each a short class and its text. Pygments divides, the page colours."""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, ClassVar

from pygments.lexer import Lexer, RegexLexer, bygroups
from pygments.lexers import DiffLexer, GasLexer, PythonLexer
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, Punctuation, String, Text, _TokenType

Line = list[list[str]]  # of [class, text]
CONTEXT = 3  # lines of a source file around those that were asked for
#: class of the page ← kind of token; the first that holds it counts
CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "c"), (Keyword, "k"), (String, "s"), (Number, "m"), (Name.Function, "f"), (Name.Builtin, "b"),
    (Name.Label, "l"), (Name.Variable, "v"), (Operator, "o"), (Generic.Deleted, "gd"), (Generic.Inserted, "gi"),
    (Generic.Subheading, "gh"), (Generic.Heading, "gh"),
)  # fmt: skip


class NestLexer(RegexLexer):  # type: ignore[misc]
    """The text of nests and of passes."""

    name = "strop nest"
    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            (r"#.*$", Comment),
            (r"\b(nest|scratch|parallel|reduce|sequential|in|if|else|threads|vector|unroll|serial|tile)\b", Keyword),
            (r"\b([a-z_][\w.]*)(\()", bygroups(Name.Function, Punctuation)),
            (r"\b(f32|f64|f16|bf16|i64|i32|i16|i8|u8|bool)\b", Name.Builtin),
            (r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?\b", Number),
            (r"[A-Za-z_][\w.]*", Name.Variable),
            (r"[-+*/%<>=|&]+", Operator),
            (r"\s+", Text),
            (r".", Punctuation),
        ]
    }


LEXERS: dict[str, type[Lexer]] = {"nest": NestLexer, "assembly": GasLexer, "python": PythonLexer, "diff": DiffLexer}


@lru_cache(maxsize=128)  # nests that are alike have the same machine code
def highlighted(text: str, language: str) -> list[Line]:
    """The lines of a text. Their words joined are the text, whatever it holds."""
    lexer = LEXERS[language](stripnl=False, ensurenl=False)
    lines: list[Line] = [[]]
    for kind, value in lexer.get_tokens(text):
        name = _class(kind)
        for i, part in enumerate(value.split("\n")):
            if i:
                lines.append([])
            if part and lines[-1] and lines[-1][-1][0] == name:
                lines[-1][-1][1] += part
            elif part:
                lines[-1].append([name, part])
    return lines


@cache
def _class(kind: _TokenType) -> str:
    return next((name for known, name in CLASSES if kind in known), "")


def sources(places: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    """The lines of Python files around some places: per file, runs of lines with their numbers.

    Only files that nodes of a program came from are read: no name of a file comes from the page."""
    wanted: dict[str, set[int]] = {}
    for file, line in places:
        if file and line:
            wanted.setdefault(file, set()).add(line)
    found = []
    for file, lines in wanted.items():
        text = _file(file)
        if not text:
            continue
        near = sorted({n for line in lines for n in range(line - CONTEXT, line + CONTEXT + 1) if 1 <= n <= len(text)})
        indent = min((_indent(text[n - 1]) for n in near if text[n - 1]), default=0)
        shown = [{"number": n, "words": _without(text[n - 1], indent), "used": n in lines} for n in near]
        found.append({"file": file, "name": file.rpartition("/")[2], "lines": shown})
    return found


def _indent(line: Line) -> int:
    text = "".join(word for _, word in line)
    return len(text) - len(text.lstrip(" ")) if text.strip() else len(text)


def _without(line: Line, indent: int) -> Line:
    """A line without its first blanks."""
    found: Line = []
    for kind, word in line:
        cut = min(indent, len(word))
        indent -= cut
        if word[cut:]:
            found.append([kind, word[cut:]])
    return found


@lru_cache(maxsize=64)
def _file(name: str) -> tuple[Line, ...]:
    lines = linecache.getlines(name)
    return tuple(highlighted("".join(lines), "python")) if lines else ()
