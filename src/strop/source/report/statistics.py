"""How often each rule, verdict and reason occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from strop.source.facts import Scan
from strop.source.rules import Rule, all_rules


def statistics(scan: Scan) -> str:
    """Tables of counts, the most frequent first."""
    rules = all_rules()
    counted = count(scan)
    fixable = Counter(finding.code for finding in scan.findings if finding.fixable)
    parts = []
    if counted["findings"]:
        rows = [
            (f"{n:,}", code, _name(code, rules), f"{fixable[code]:,} fixable" if fixable[code] else "")
            for code, n in counted["findings"].items()
        ]
        parts.append(_table("findings", rows))
    verdicts = [(f"{n:,}", *key.split(" ", 1)) for key, n in counted["verdicts"].items()]
    parts.append(_table("verdicts", verdicts))
    reasons = [(f"{n:,}", code, _name(code, rules)) for code, n in counted["reasons"].items()]
    parts.append(_table("reasons", reasons))
    return "\n".join(part for part in parts if part)


def count(scan: Scan) -> dict[str, dict[str, Any]]:
    return {
        "findings": _sorted(finding.code for finding in scan.findings),
        "verdicts": _sorted(f"{function.verdict} {function.safety}" for function in scan.functions),
        "reasons": _sorted(reason.code for function in scan.functions for reason in function.reasons),
        "skipped": _sorted(skipped.code for skipped in scan.skipped),
    }


def _name(code: str, rules: Mapping[str, Rule]) -> str:
    return rules[code].name if code in rules else ""


def _sorted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def _table(title: str, rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join([row[0].rjust(widths[0]), *(cell.ljust(width) for cell, width in zip(row[1:], widths[1:]))]).rstrip()
        for row in rows
    ]
    return "\n".join([title, *(f"  {line}" for line in lines)]) + "\n"
