"""One HTML file that needs nothing else: no server, no network, no fonts; its policy forbids all of them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from strop.core.version import __version__
from strop.source.facts import Finding, Function, Scan
from strop.source.report.source_lines import SourceLines, notes, plural, shown, uri
from strop.source.rules import all_rules

_HERE = Path(__file__).parent


def html(scan: Scan) -> str:
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Strop: {plural(len(scan.findings), 'finding')}</title><style>{style}</style></head><body>",
            "<h1>What could run as a graph</h1>",
            f'<p class="about">strop {__version__}: {plural(scan.files, "file")}, {plural(scan.lines, "line")} read '
            "without running them</p>",
            _tiles(scan),
            *(f'<p class="about">{_safe(note)}</p>' for note in scan.notes),
            *_findings(scan),
            *_functions(scan),
            *_skipped(scan),
            f"<script>{script}</script></body></html>\n",
        ]
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _tiles(scan: Scan) -> str:
    figures = {
        "findings": len(scan.findings),
        "fixable": sum(finding.fixable for finding in scan.findings),
        "functions": len(scan.functions),
        "graphs already": sum(function.graph for function in scan.functions),
        "could become graphs": sum(function.verdict == "to_graph" for function in scan.functions),
        "undetermined": sum(function.verdict == "unknown" for function in scan.functions),
        "files skipped": len(scan.skipped),
    }
    tiles = (f'<div class="tile"><b>{count:,}</b><span>{name}</span></div>' for name, count in figures.items())
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _findings(scan: Scan) -> Iterator[str]:
    yield "<h2>Findings</h2>"
    if not scan.findings:
        yield "<p>Nothing found.</p>"
        return
    codes = sorted({finding.code for finding in scan.findings})
    yield _filters("article.finding", {"code": codes, "safety": sorted({f.safety for f in scan.findings})})
    sources, chains, rules = SourceLines(), notes(scan), all_rules()
    for finding in scan.findings:
        told = chains.get((finding.function, finding.place.file, finding.place.line, finding.code), [])
        title = rules[finding.code].title if finding.code in rules else ""
        yield _finding(finding, title, sources, told)


def _finding(finding: Finding, title: str, sources: SourceLines, chains: list[str]) -> str:
    place = finding.place
    gain = f"about {finding.estimated_gain:.2f}×" if finding.estimated_gain else ""
    extras = [text for text in (gain, "fixable" if finding.fixable else "") if text]
    rows = []
    for number in range(max(1, place.line - 2), place.line + 3):
        line = sources.line(place.file, number)
        if not line.strip() and number != place.line:
            continue
        start, stop = sources.columns(place) if number == place.line else (0, 0)
        marked = f"<mark>{_safe(line[start:stop])}</mark>" if stop else ""
        rows.append(f"<i>{number:>5}  </i>{_safe(line[:start])}{marked}{_safe(line[stop:])}")
    return (
        f'<article class="finding" data-code="{_safe(finding.code)}" data-safety="{finding.safety}"><header>'
        f'<span class="code" title="{_safe(title)}">{_safe(finding.code)} {_safe(finding.rule)}</span>'
        f'<span class="place">{_safe(uri(place.file))}:{place.line}</span>'
        + (f"<code>{_safe(finding.function)}</code>" if finding.function else "")
        + f'<span class="badge {finding.safety}">{finding.safety}</span>'
        + "".join(f"<span>{_safe(text)}</span>" for text in extras)
        + f'<span class="what">{_safe(finding.message)}</span></header>'
        + "".join(f'<p class="chain">reached by: {_safe(chain)}</p>' for chain in chains[:3])
        + (f'<p class="chain">gain: {_safe(finding.gain_reason)}</p>' if finding.gain_reason else "")
        + "".join(f'<p class="chain">assumes {_safe(assumption)}</p>' for assumption in finding.assumptions)
        + "<pre>"
        + "\n".join(rows)
        + "</pre></article>"
    )


def _functions(scan: Scan) -> Iterator[str]:
    yield "<h2>Verdicts</h2>"
    picks: dict[str, list[str]] = {
        "verdict": sorted({str(function.verdict) for function in scan.functions}),
        "safety": sorted({str(function.safety) for function in scan.functions}),
        "framework": sorted({str(function.framework) for function in scan.functions if function.framework}),
    }
    yield _filters("tr.function", picks)
    yield '<div class="scroll"><table><thead><tr><th>function</th><th>now</th><th>verdict</th><th>why</th></tr></thead>'
    yield "<tbody>"
    for function in scan.functions:
        yield _function(function)
    yield "</tbody></table></div>"


def _function(function: Function) -> str:
    why = [f"assumes {assumption}" for assumption in function.assumptions]
    why += [
        f"{reason.code} {uri(reason.place.file)}:{reason.place.line}: {reason.message}" for reason in function.reasons
    ]
    now = " ".join(part for part in (function.framework, "graph" if function.graph else "eager") if part)
    return (
        f'<tr class="function" data-verdict="{function.verdict}" data-safety="{function.safety}" '
        f'data-framework="{function.framework or ""}">'
        f"<td><code>{_safe(function.function)}</code><br>"
        f'<span class="place">{_safe(uri(function.file))}:{function.line}</span></td>'
        f"<td>{now}</td><td>{function.verdict.replace('_', ' ')}<br>"
        f'<span class="badge {function.safety}">{function.safety}</span></td><td>'
        + ("<ul>" + "".join(f"<li>{_safe(text)}</li>" for text in dict.fromkeys(why)) + "</ul>" if why else "")
        + (f"<code>{_safe(function.signature)}</code>" if function.signature else "")
        + "</td></tr>"
    )


def _skipped(scan: Scan) -> Iterator[str]:
    if not scan.skipped:
        return
    yield "<h2>Skipped</h2><ul>"
    for skipped in scan.skipped:
        at = f":{skipped.line}" if skipped.line else ""
        yield (
            f'<li><span class="place">{_safe(uri(skipped.file))}{at}</span> '
            f'<span class="code">{_safe(skipped.code)}</span> {_safe(skipped.message)}</li>'
        )
    yield "</ul>"


def _filters(items: str, picks: dict[str, list[str]]) -> str:
    selects = "".join(
        f'<select name="{name}" aria-label="{name}"><option value="">every {name}</option>{_options(values)}</select>'
        for name, values in picks.items()
    )
    search = '<input name="search" type="search" placeholder="search" aria-label="search">'
    return f'<form class="filters" data-items="{items}">{search}{selects}<output></output></form>'


def _options(values: Iterable[str]) -> str:
    return "".join(f'<option value="{_safe(v)}">{_safe(v.replace("_", " "))}</option>' for v in values)


def _safe(text: str) -> str:
    return escape(shown(text).encode("utf-8", "replace").decode())
