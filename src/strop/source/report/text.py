"""Findings for a terminal: the place, the line with carets and its neighbours, the call chain, and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from strop.source.facts import Finding, Function, Scan
from strop.source.report.source_lines import SourceLines, notes, plural, shown

_FIXES = {
    "safe": "`strop fix --write` applies this",
    "safe-if": "`strop fix --write --unsafe` applies this; it rests on an assumption",
    "unsafe": "not applied: it may change what the program does",
}
_SAME = 3  #: findings with one message that are shown
_ASSUMPTIONS = 3  #: of a finding that are shown
_COLOURS = {"red": "\033[31;1m", "blue": "\033[34;1m", "bold": "\033[1m", "dim": "\033[2m", "off": "\033[0m"}
_PLAIN = dict.fromkeys(_COLOURS, "")


def text(scan: Scan, *, colour: bool = False, verdicts: bool = False, limit: int | None = None) -> str:
    """Skipped files, verdicts when asked for, the findings worth most (`limit` of them), and one line that sums up."""
    paint = _COLOURS if colour else _PLAIN
    lines = list(_skipped(scan, paint, limit))
    if verdicts:
        for function in scan.functions:
            lines += _verdict(function, paint)
    sources, chains = SourceLines(), notes(scan)
    best = scan.findings if limit is None else best_of(scan.findings, limit)
    for finding in best:
        key = (finding.function, finding.place.file, finding.place.line, finding.code)
        lines += _finding(finding, sources, chains.get(key, []), paint)
    kept = set(map(id, best))
    if more := _more([finding for finding in scan.findings if id(finding) not in kept]):
        lines += [more, ""]
    return "\n".join([*lines, *scan.notes, summary(scan)]) + "\n"


def best_of(findings: list[Finding], limit: int) -> list[Finding]:
    """The ones that are worth most; of those that say the same of different places, a few."""
    said: Counter[tuple[str, str]] = Counter()
    kept = []
    for finding in findings:
        said[finding.code, finding.message] += 1
        if said[finding.code, finding.message] <= _SAME:
            kept.append(finding)
    return kept[:limit]


def _more(rest: list[Finding]) -> str:
    """What is not shown, in one line."""
    if not rest:
        return ""
    codes = Counter(f"{finding.code} {finding.rule}" for finding in rest)
    often = ", ".join(f"{count} {name}" for name, count in codes.most_common(4))
    others = ", …" if len(codes) > 4 else ""
    return f"{len(rest):,} more, worth less or the same again ({often}{others}): `--all` shows them"


def summary(scan: Scan) -> str:
    fixable = sum(finding.fixable for finding in scan.findings)
    found = plural(len(scan.findings), "finding") if scan.findings else "nothing found"
    fix = f" ({fixable:,} fixable)" if fixable else ""
    counts = {"function": len(scan.functions), "file": scan.files, "line": scan.lines}
    judged = {noun: count for noun, count in counts.items() if count or noun != "function"}  # kernels need no verdicts
    looked = ", ".join(plural(count, noun) for noun, count in judged.items())
    skipped = f"; {plural(len(scan.skipped), 'file')} skipped" if scan.skipped else ""
    return f"{found}{fix} in {looked}{skipped}"


def _skipped(scan: Scan, paint: dict[str, str], limit: int | None) -> Iterator[str]:
    for skipped in scan.skipped[:limit]:
        place = f"{skipped.file}:{skipped.line}" if skipped.line else skipped.file
        yield f"{paint['bold']}{shown(place)}{paint['off']}: skipped [{skipped.code}]: {shown(skipped.message)}"
    if scan.skipped:
        yield ""


def _finding(finding: Finding, sources: SourceLines, chains: list[str], paint: dict[str, str]) -> Iterator[str]:
    place, blue, off = finding.place, paint["blue"], paint["off"]
    column = sources.columns(place)[0] + 1
    head = f"{paint['bold']}{shown(place.file)}:{place.line}:{column}{off}"
    yield f"{head}: {paint['red']}{finding.code}{off} {finding.rule}: {shown(finding.message)}"
    numbers = [n for n in (place.line - 1, place.line, place.line + 1) if n > 0 and _has(sources, place.file, n)]
    margin = len(str(max(numbers, default=place.line)))
    line, carets = sources.carets(place)
    for number in numbers:
        if number == place.line:
            yield f"{blue}{number:>{margin}} |{off} {line}"
            yield f"{blue}{'':>{margin}} |{off} {paint['red']}{carets}{off}"
        else:
            beside = shown(sources.line(place.file, number))
            yield f"{blue}{number:>{margin}} |{off} {paint['dim']}{beside}{off}".rstrip()
    for chain in chains[:3]:
        yield f"{blue}{'':>{margin}} ={off} reached by: {chain}"
    if finding.function:
        yield f"{blue}{'':>{margin}} ={off} in {finding.function}: {finding.safety}{_gain(finding)}"
    elif finding.estimated_gain:
        yield f"{blue}{'':>{margin}} ={off} {finding.safety}{_gain(finding)}"
    for assumption in finding.assumptions[:_ASSUMPTIONS]:
        yield f"{blue}{'':>{margin}} ={off} assumes {shown(assumption)}"
    if len(finding.assumptions) > _ASSUMPTIONS:
        more = len(finding.assumptions) - _ASSUMPTIONS
        yield f"{blue}{'':>{margin}} ={off} and {plural(more, 'more assumption')}: see `--json`"
    if finding.fixable:
        yield f"{blue}{'':>{margin}} ={off} fix: {_FIXES[finding.safety]}"
    yield ""


def _gain(finding: Finding) -> str:
    if not finding.estimated_gain:
        return ""
    why = f" ({finding.gain_reason})" if finding.gain_reason else ""
    return f", about {finding.estimated_gain:.2f}×{why}"


def _has(sources: SourceLines, file: str, number: int) -> bool:
    return bool(sources.line(file, number).strip())


def _verdict(function: Function, paint: dict[str, str]) -> Iterator[str]:
    now = "graph" if function.graph else "eager"
    what = " · ".join(part for part in (function.framework, now, function.safety) if part)
    head = f"{paint['bold']}{shown(function.file)}:{function.line} {function.function}{paint['off']}"
    yield f"{head}: {function.verdict.replace('_', ' ')} ({what})"
    for assumption in function.assumptions:
        yield f"    assumes {assumption}"
    counted = Counter((reason.code, reason.message, str(reason.place), reason.chain) for reason in function.reasons)
    for code, message, place, chain in counted:
        yield f"    {code} {place}: {shown(message)}"
        if chain:
            yield f"        reached by: {' → '.join(str(step) for step in chain)}"
    if function.signature:
        yield f"    signature: {function.signature}"
    yield ""
