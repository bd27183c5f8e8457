"""Comments that silence findings: `# strop: ignore[STR161]` on the line or on a line of its own above it.

`# strop: ignore` silences every code, `# strop: ignore-file[STR161]` one code in the whole file. A comment that
silences nothing is a finding itself, so that they do not outlive what they were written for.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from strop.source.facts import Edit, Finding, Place, Skipped
from strop.source.project.files import Text, read
from strop.source.rules import declare

_MARK = re.compile(r"#\s*strop:\s*ignore(?P<file>-file)?\s*(?:\[(?P<codes>[^\]]*)\])?", re.IGNORECASE)

UNUSED = declare(
    "STR196",
    "unused-ignore",
    """A `# strop: ignore[…]` comment silences nothing.

    The finding that it was written for is gone, or the code is another one. `strop fix --write` deletes the comment, or
    the codes of it that are not needed.
    """,
)


@dataclass
class _Comment:
    place: Place
    codes: tuple[str, ...]  #: empty: every code
    whole_file: bool
    alone: bool  #: on a line of its own, so that it speaks of the line below
    used: set[str] = field(default_factory=set)

    def silences(self, finding: Finding) -> bool:
        if self.codes and finding.code not in self.codes:
            return False
        if self.whole_file:
            return True
        first, last = finding.place.line, finding.place.line
        return first <= self.place.line <= last or (self.alone and self.place.line == first - 1)


def apply_ignores(
    findings: Iterable[Finding],
    files: Iterable[str],
    *,
    reading: Callable[[str], Text | Skipped] = read,
    active: Callable[[str], bool] = lambda code: True,
) -> list[Finding]:
    """The findings that no comment silences, and one for each comment that silences nothing.

    `active` says whether a code was looked for at all: comments for codes that are switched off are left alone.
    """
    findings = list(findings)
    comments: dict[str, list[_Comment]] = {}
    for file in sorted({*files, *(finding.place.file for finding in findings)}):
        text = reading(file)
        if isinstance(text, Text) and "strop:" in text.text:
            comments[file] = _comments(text)
    kept = []
    for finding in findings:
        silencing = [c for c in comments.get(finding.place.file, ()) if c.silences(finding)]
        for comment in silencing:
            comment.used.add(finding.code)
        if not silencing:
            kept.append(finding)
    unused = [f for found in comments.values() for c in found if (f := _unused(c, active)) is not None]
    return sorted([*kept, *unused], key=lambda f: (f.place, f.code, f.message))


def _comments(text: Text) -> list[_Comment]:
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text.text).readline):
            mark = _MARK.search(token.string) if token.type == tokenize.COMMENT else None
            if mark is None:
                continue
            line, column = token.start
            before = token.line[:column]
            start, stop = len(before.encode()) + len(token.string[: mark.start()].encode()), 0
            stop = start + len(mark[0].encode())
            alone = not before.strip()
            if not alone and not token.string[: mark.start()].strip("# "):
                start -= len(before) - len(before.rstrip())
            place = Place(text.file, line, start, line, stop)
            codes = tuple(code.strip().upper() for code in (mark["codes"] or "").split(",") if code.strip())
            found.append(_Comment(place, codes, bool(mark["file"]), alone))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        pass  # the file is reported as skipped
    return found


def _unused(comment: _Comment, active: Callable[[str], bool]) -> Finding | None:
    useless = [code for code in comment.codes if code not in comment.used and active(code)]
    if not useless and (comment.used or comment.codes):
        return None
    needed = [code for code in comment.codes if code not in useless]
    kind = "ignore-file" if comment.whole_file else "ignore"
    replacement = f"# strop: {kind}[{', '.join(needed)}]" if needed else ""
    if needed and not comment.alone:
        replacement = f"  {replacement}"
    what = ", ".join(useless) or "nothing"
    message = f"this comment silences {'nothing' if not comment.codes else f'{what}, which is not found here'}"
    return Finding(UNUSED, "unused-ignore", comment.place, "", message, "safe", (Edit(comment.place, replacement),))
