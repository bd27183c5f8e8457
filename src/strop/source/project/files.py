"""Finding, reading and parsing the files of a project; what cannot be read becomes a `Skipped`, never an exception.

Nothing here trusts the input: links that go round in circles, pipes and devices with a `.py` name, binary rubbish,
encodings that lie, sources that would overflow the parser's stack. The rest of a scan goes on.
"""

from __future__ import annotations

import ast
import fnmatch
import io
import os
import re
import stat
import tokenize
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from strop.source.facts import Skipped
from strop.source.project.declarations import children
from strop.source.rules import declare

MAX_LINES = 50_000  #: from here on a file is taken for generated
MAX_BYTES = 16 * 2**20
MAX_DEPTH = 500  #: nested expressions and blocks; deeper trees would exhaust the interpreter's own stack
EXCLUDED = (
    *(".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "node_modules", "__pycache__", "__pypackages__"),
    *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".eggs", "*.egg-info", "build", "dist", "site-packages"),
)

_SYNTAX = declare(
    "STR190",
    "syntax-error",
    """The file is not valid Python 3.

    It was skipped and the rest of the project was scanned. The message holds Python's own words. Sources for Python 2
    (`print "x"`, `except E, e:`) end here as well: convert them first, or exclude them in `[tool.strop]`.
    """,
)
_ENCODING = declare(
    "STR191",
    "undecodable",
    """The file cannot be decoded.

    Its bytes do not fit the encoding that it declares (`# -*- coding: … -*-`, a byte order mark, or UTF-8 when it says
    nothing), the declared encoding does not exist, or it holds null bytes. Save it as UTF-8.
    """,
)
_UNREADABLE = declare(
    "STR192",
    "unreadable",
    """The file cannot be opened.

    It does not exist, may not be read by this user, is a link that leads in a circle, or is not a regular file.
    """,
)
_TOO_DEEP = declare(
    "STR193",
    "too-deep",
    f"""Expressions or blocks are nested too deeply.

    More than {MAX_DEPTH} levels, or more than Python's own parser accepts. Such files are generated; they were
    skipped, since neither Python nor a reader follows them.
    """,
)
_TOO_LARGE = declare(
    "STR194",
    "too-large",
    f"""The file is too large to be written by hand.

    {MAX_LINES:,} lines or {MAX_BYTES >> 20} MB and more are taken for generated code and skipped. `max-lines` in
    `[tool.strop]` raises the limit.
    """,
)
GAVE_UP = declare(
    "STR195",
    "gave-up",
    """The file was given up on.

    The analysis of this file failed or took longer than its time limit. That is a gap in Strop: please report it with
    the file. The rest of the project was scanned.
    """,
)

_PYTHON_2 = re.compile(
    r"^\s*(?:print\s+[^\s(=]|exec\s+[\"'\w]|raise\s+\w+\s*,|except\s+[\w.]+\s*,\s*\w+\s*:)|<>|\b0[0-7]+L?\b",
    re.MULTILINE,
)


_PRETENDED: dict[str, bytes] = {}


@dataclass(frozen=True)
class Text:
    """A decoded file. Line ends are kept as they are; the text never begins with a byte order mark."""

    file: str
    text: str
    encoding: str  #: as Python names it, such as `utf-8` or `iso-8859-1`
    bom: bool
    lines: int

    def encode(self, text: str) -> bytes:
        """Other text in the same encoding; raises UnicodeEncodeError when it does not fit."""
        return (b"\xef\xbb\xbf" if self.bom else b"") + text.encode(self.encoding)


def find(
    paths: Sequence[str], *, include: Sequence[str] = ("*.py",), exclude: Sequence[str] = ()
) -> tuple[list[str], list[Skipped]]:
    """The files to read, sorted and each once, and the paths that lead nowhere.

    A file that is named itself is taken whatever its name; folders are searched for `include`, minus `EXCLUDED` and
    `exclude` (names, or paths from the folder that was given).
    """
    found: dict[str, str] = {}  # real path → as shown
    skipped: list[Skipped] = []
    for path in paths:
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116
        except (OSError, ValueError) as error:
            skipped.append(Skipped(path, _UNREADABLE, _words(error)))
            continue
        if not stat.S_ISDIR(mode):
            found.setdefault(os.path.realpath(path), path)
            continue
        for file in _walk(path, include, (*EXCLUDED, *exclude), skipped):
            found.setdefault(os.path.realpath(file), file)
    return sorted(found.values()), skipped


def _walk(root: str, include: Sequence[str], exclude: Sequence[str], skipped: list[Skipped]) -> Iterator[str]:
    seen = set(_around(root))

    def failed(error: OSError) -> None:
        skipped.append(Skipped(error.filename or root, _UNREADABLE, _words(error)))

    for folder, folders, files in os.walk(root, followlinks=True, onerror=failed):
        try:
            status = os.stat(folder)  # noqa: PTH116
        except OSError as error:
            failed(error)
            folders.clear()
            continue
        if (status.st_dev, status.st_ino) in seen:  # a link back into what was walked already, or out and up
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        inside = os.path.relpath(folder, root)
        folders[:] = sorted(name for name in folders if not _matches(name, inside, exclude))
        for name in sorted(files):
            if any(fnmatch.fnmatch(name, pattern) for pattern in include) and not _matches(name, inside, exclude):
                yield os.path.join(folder, name)  # noqa: PTH118


def _around(root: str) -> Iterator[tuple[int, int]]:
    """The folders that the root is in: a link to one of them leads in a circle."""
    for folder in Path(os.path.realpath(root)).parents:
        with suppress(OSError):
            status = folder.stat()
            yield status.st_dev, status.st_ino


def _matches(name: str, inside: str, patterns: Sequence[str]) -> bool:
    path = name if inside == "." else f"{inside}/{name}".replace(os.sep, "/")
    return any(
        fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(path, pattern.removeprefix("./").rstrip("/"))
        for pattern in patterns
    )


@contextmanager
def pretending(contents: Mapping[str, bytes]) -> Iterator[None]:
    """Inside, these files have this content: so edits can be looked at before they are written."""
    before = dict(_PRETENDED)
    _PRETENDED.update({os.path.realpath(file): data for file, data in contents.items()})
    try:
        yield
    finally:
        _PRETENDED.clear()
        _PRETENDED.update(before)


def pretended() -> dict[str, bytes]:
    """What `pretending` says at the moment, for a process that is to see the same."""
    return dict(_PRETENDED)


def read(file: str, *, max_lines: int = MAX_LINES) -> Text | Skipped:
    """The decoded text of a file, or why there is none."""
    data = read_bytes(file)
    return data if isinstance(data, Skipped) else decode(file, data, max_lines=max_lines)


def read_bytes(file: str) -> bytes | Skipped:
    """The content of a regular file of bearable size."""
    if _PRETENDED and (data := _PRETENDED.get(os.path.realpath(file))) is not None:
        return data
    try:
        status = Path(file).stat()
        if not stat.S_ISREG(status.st_mode):
            return Skipped(file, _UNREADABLE, "it is not a regular file")
        if status.st_size > MAX_BYTES:
            return Skipped(file, _TOO_LARGE, f"it has {status.st_size >> 20} MB, the limit is {MAX_BYTES >> 20}")
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:
        return Skipped(file, _UNREADABLE, _words(error))


def decode(file: str, data: bytes, *, max_lines: int = MAX_LINES) -> Text | Skipped:
    """Bytes as Python would read them: byte order mark, then the coding comment, then UTF-8."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        return Skipped(file, _ENCODING, str(error).split(":")[0].removesuffix(f" for {file!r}"), 1)
    bom = encoding == "utf-8-sig"
    encoding = "utf-8" if bom else encoding
    try:
        text = data.removeprefix(b"\xef\xbb\xbf" if bom else b"").decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Skipped(file, _ENCODING, f"byte {data[error.start]:#04x} is not {encoding}", line)
    except (LookupError, ValueError) as error:
        return Skipped(file, _ENCODING, str(error), 1)
    if "\0" in text:
        return Skipped(file, _ENCODING, "it holds null bytes", text.count("\n", 0, text.index("\0")) + 1)
    lines = len(_LINE_END.findall(text)) + (not text.endswith(("\n", "\r")) and bool(text))
    if lines >= max_lines:
        return Skipped(file, _TOO_LARGE, f"it has {lines:,} lines, the limit is {max_lines:,}")
    return Text(file, text, encoding, bom, lines)


_LINE_END = re.compile(r"\r\n|\r|\n")


def parse(text: Text) -> ast.Module | Skipped:
    """The syntax tree, or why there is none. Trees deeper than `MAX_DEPTH` are refused before anyone recurses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes are the user's linter's business
            tree = ast.parse(text.text, filename=text.file)
    except SyntaxError as error:
        if error.msg.startswith("too many nested parentheses"):
            return Skipped(text.file, _TOO_DEEP, error.msg, error.lineno or 0)
        hint = " (this looks like Python 2)" if _PYTHON_2.search(text.text) else ""
        return Skipped(text.file, _SYNTAX, f"{error.msg}{hint}", error.lineno or 0)
    except (MemoryError, RecursionError):
        return Skipped(text.file, _TOO_DEEP, "nested deeper than Python's parser accepts")
    except ValueError as error:
        return Skipped(text.file, _SYNTAX, str(error))
    deep = _too_deep(tree)
    return tree if deep is None else Skipped(text.file, _TOO_DEEP, f"more than {MAX_DEPTH} levels deep", deep)


def _too_deep(tree: ast.Module) -> int | None:
    """The line at which the tree gets too deep."""
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in children(node)]
        if not level:
            return None
    return next((node.lineno for node in level if isinstance(node, (ast.expr, ast.stmt))), 0)


def _words(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
