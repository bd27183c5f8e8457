"""Annotations for GitHub Actions: workflow commands that show up on the lines of a pull request."""

from __future__ import annotations

from strop.source.facts import Scan
from strop.source.report.source_lines import SourceLines, shown, uri


def github(scan: Scan) -> str:
    sources = SourceLines()
    lines = []
    for finding in scan.findings:
        place = finding.place
        start, stop = sources.columns(place)
        where = {
            "file": uri(place.file),
            "line": place.line,
            "endLine": place.end_line or place.line,
            "col": start + 1,
            "endColumn": stop,
            "title": f"{finding.code} {finding.rule}",
        }
        if where["endLine"] != place.line:  # columns are for one line only
            del where["col"], where["endColumn"]
        lines.append(_command("warning", where, finding.message))
    for skipped in scan.skipped:
        at = {"file": uri(skipped.file), "line": skipped.line or 1, "title": skipped.code}
        lines.append(_command("notice", at, f"skipped: {skipped.message}"))
    return "".join(f"{line}\n" for line in lines)


def _command(level: str, where: dict[str, object], message: str) -> str:
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in where.items())
    return f"::{level} {properties}::{_data(message)}"


def _data(text: str) -> str:
    return shown(text.replace("\r", "")).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
