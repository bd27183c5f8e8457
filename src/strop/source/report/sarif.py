"""SARIF 2.1.0, which code scanning services and editors read; fixes included."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from strop.core.version import __version__
from strop.source.facts import Edit, Finding, Place, Scan, Skipped
from strop.source.report.source_lines import SourceLines, notes, uri
from strop.source.rules import Rule, all_rules

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"safe": "warning", "safe-if": "note", "unsafe": "note"}


def sarif(scan: Scan) -> str:
    codes = {finding.code for finding in scan.findings} | {skipped.code for skipped in scan.skipped}
    rules = [rule for code, rule in all_rules().items() if code in codes]
    known = {rule.code for rule in rules}
    rules += [Rule(code, code.lower(), code, "") for code in sorted(codes - known)]
    index = {rule.code: at for at, rule in enumerate(rules)}
    sources, chains = SourceLines(), notes(scan)
    run = {
        "tool": {"driver": {"name": "Strop", "semanticVersion": __version__, "rules": [_rule(rule) for rule in rules]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": Path.cwd().as_uri() + "/"}},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [_notification(skipped) for skipped in scan.skipped],
            }
        ],
        "results": [_result(finding, index, sources, chains) for finding in scan.findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": "".join(word.title() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.text or rule.title},
        "help": {"text": rule.text or rule.title},
        "defaultConfiguration": {"level": "warning"},
    }


def _result(
    finding: Finding, index: dict[str, int], sources: SourceLines, chains: dict[tuple[str, str, int, str], list[str]]
) -> dict[str, Any]:
    place = finding.place
    location: dict[str, Any] = {"physicalLocation": _physical(place, sources)}
    if finding.function:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.function, "kind": "function"}]
    told = chains.get((finding.function, place.file, place.line, finding.code), [])
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": _LEVELS[finding.safety],
        "message": {"text": "\n".join([finding.message, *(f"reached by: {chain}" for chain in told)])},
        "locations": [location],
        "partialFingerprints": {"strop/v1": _fingerprint(finding)},
        "properties": {
            "safety": finding.safety,
            "estimatedGain": finding.estimated_gain,
            "gainReason": finding.gain_reason,
            "assumptions": list(finding.assumptions),
            "worth": round(finding.worth, 2),
            "environment": dict(finding.environment),
        },
    }
    if finding.edits and finding.safety != "unsafe":
        result["fixes"] = [_fix(finding, sources)]
    return result


def _fix(finding: Finding, sources: SourceLines) -> dict[str, Any]:
    files: dict[str, list[Edit]] = {}
    for edit in finding.edits:
        files.setdefault(edit.place.file, []).append(edit)
    changes = [
        {
            "artifactLocation": _artifact(file),
            "replacements": [
                {
                    "deletedRegion": _region(edit.place, sources, empty=True),
                    "insertedContent": {"text": edit.text},
                }
                for edit in edits
            ],
        }
        for file, edits in sorted(files.items())
    ]
    return {"description": {"text": finding.message}, "artifactChanges": changes}


def _physical(place: Place, sources: SourceLines) -> dict[str, Any]:
    region = _region(place, sources)
    region["snippet"] = {"text": sources.line(place.file, place.line)}
    return {"artifactLocation": _artifact(place.file), "region": region}


def _region(place: Place, sources: SourceLines, *, empty: bool = False) -> dict[str, Any]:
    start, stop = sources.columns(place)
    end_line = place.end_line or place.line
    if end_line != place.line:
        stop = sources.end_column(place)
    elif empty:
        stop = sources.end_column(place) if place.end_line else start
    return {"startLine": place.line, "startColumn": start + 1, "endLine": end_line, "endColumn": stop + 1}


def _artifact(file: str) -> dict[str, str]:
    path = uri(file)
    if Path(path).is_absolute():
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(path), "uriBaseId": "SRCROOT"}


def _notification(skipped: Skipped) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(skipped.file)}
    if skipped.line:
        physical["region"] = {"startLine": skipped.line}
    return {
        "descriptor": {"id": skipped.code},
        "level": "warning",
        "message": {"text": f"skipped: {skipped.message}"},
        "locations": [{"physicalLocation": physical}],
    }


def _fingerprint(finding: Finding) -> str:
    parts = (uri(finding.place.file), finding.code, finding.function, finding.message)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
