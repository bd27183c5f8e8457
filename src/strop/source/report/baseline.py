"""Only what is new: findings beyond those that a baseline file knows, or on lines that changed since a revision.

A baseline does not hold line numbers, which move with every edit, but what is found in which function and how often.
The gate "no new graph breaks" is `strop scan --baseline FILE` or `strop scan --changed-since origin/main` in CI.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from strop.core.problem import Problem
from strop.source.facts import Finding
from strop.source.fix.edit import replace_file

_VERSION = 1
_NUMBERS = re.compile(r"(?<=:)\d+|(?<=line )\d+")
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_Key = tuple[str, str, str, str]


def write_baseline(path: str, findings: Iterable[Finding]) -> int:
    """Store what is found today; the number of findings."""
    counts = Counter(_key(finding, path) for finding in findings)
    rows = [
        {"file": file, "code": code, "function": function, "message": message, "count": count}
        for (file, code, function, message), count in sorted(counts.items())
    ]
    text = json.dumps({"strop": "baseline", "version": _VERSION, "findings": rows}, indent=1, ensure_ascii=False)
    try:
        replace_file(path, f"{text}\n".encode())
    except OSError as error:
        raise Problem("STR008", f"{path} cannot be written: {error.strerror or error}") from None
    return sum(counts.values())


def beyond_baseline(path: str, findings: Iterable[Finding]) -> list[Finding]:
    """The findings that the baseline does not know; of several alike, those past the number that it knows."""
    left = _read(path)
    new = []
    for finding in findings:
        key = _key(finding, path)
        if left[key] > 0:
            left[key] -= 1
        else:
            new.append(finding)
    return new


def on_changed_lines(findings: Iterable[Finding], revision: str, root: str) -> list[Finding]:
    """The findings that touch lines which differ from a git revision; files that git does not know count whole."""
    changed = changed_lines(revision, root)
    return [finding for finding in findings if _touches(finding, changed)]


def changed_lines(revision: str, root: str) -> dict[str, set[int] | None]:
    """By real path: the lines that are new or changed since a revision; None for a file that is new as a whole."""
    if revision.startswith("-"):
        raise Problem("STR008", f"`{revision}` is not a git revision")
    folder = root if Path(root).is_dir() else str(Path(root).parent)
    top = _git(folder, "rev-parse", "--show-toplevel").rstrip("\n")
    diff = _git(top, "diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-renames", revision, "--")
    changed: dict[str, set[int] | None] = {}
    lines: set[int] | None = None
    for line in diff.split("\n"):
        if line.startswith("+++ "):
            name = _unquoted(line[4:].rstrip("\t"))
            lines = changed.setdefault(os.path.realpath(Path(top) / name.removeprefix("b/")), set())
        elif (hunk := _HUNK.match(line)) and lines is not None:
            first, count = int(hunk[1]), int(hunk[2] or 1)
            lines.update(range(first, first + count))
    for name in _git(top, "ls-files", "--others", "--exclude-standard", "-z").split("\0"):
        if name:
            changed[os.path.realpath(Path(top) / name)] = None
    return changed


def _touches(finding: Finding, changed: dict[str, set[int] | None]) -> bool:
    place = finding.place
    file = os.path.realpath(place.file)
    if file not in changed:
        return False
    lines = changed[file]
    return lines is None or not lines.isdisjoint(range(place.line, max(place.line, place.end_line) + 1))


def _read(path: str) -> Counter[_Key]:
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
        if stored["strop"] != "baseline" or stored["version"] != _VERSION:
            raise Problem("STR008", f"{path} is no baseline that this version can read")
        rows = stored["findings"]
        return Counter({(r["file"], r["code"], r["function"], r["message"]): int(r["count"]) for r in rows})
    except FileNotFoundError:
        raise Problem("STR008", f"there is no baseline {path}", help=f"`--write-baseline {path}` makes one") from None
    except (OSError, ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise Problem("STR008", f"{path} is not a baseline: {error}", help="write it anew") from None


def _key(finding: Finding, path: str) -> _Key:
    file = os.path.relpath(os.path.realpath(finding.place.file), os.path.realpath(Path(path).parent))
    return file.replace(os.sep, "/"), finding.code, finding.function, _NUMBERS.sub("", finding.message)


def _git(folder: str, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Problem("STR008", f"git cannot be run: {error}") from None
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip().split("\n")[0]
        raise Problem("STR008", f"git {arguments[0]}: {why}")
    return done.stdout.decode(errors="surrogateescape")


def _unquoted(name: str) -> str:
    """Git quotes names with unusual characters in the manner of C."""
    if not name.startswith('"'):
        return name
    return name[1:-1].encode("latin-1", "replace").decode("unicode_escape").encode("latin-1").decode(errors="replace")
