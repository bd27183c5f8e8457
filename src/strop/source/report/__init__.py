"""A scan as text for people and for machines; every writer takes a `Scan` and gives back one string."""

from __future__ import annotations

from collections.abc import Callable

from strop.source.facts import Scan
from strop.source.report.github import github
from strop.source.report.html import html
from strop.source.report.plain import as_json
from strop.source.report.sarif import sarif
from strop.source.report.statistics import statistics
from strop.source.report.text import best_of, text

FORMATS: dict[str, Callable[[Scan], str]] = {
    "text": text,
    "json": as_json,
    "sarif": sarif,
    "github": github,
    "html": html,
}

__all__ = ["FORMATS", "as_json", "best_of", "github", "html", "sarif", "statistics", "text"]
