"""What README and settings.md say is what the pages and the code that they speak of say."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from strop.core.options import Options

ROOT = Path(__file__).resolve().parents[2]
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def results() -> list[tuple[str, str]]:
    """Rows of the table of results: what is claimed, and the page that has it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Results")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ") and "](" in line]
    pages = (re.search(r"\(([^)#]+)", row[-1]) for row in rows)
    return [(row[-2], found.group(1)) for row, found in zip(rows, pages) if found]


def test_every_figure_of_the_readme_stands_on_the_page_that_it_names() -> None:
    assert len(results()) > 3
    missing = []
    for claim, page in results():
        known = set(_NUMBER.findall((ROOT / page).read_text(encoding="utf-8")))
        missing += [(figure, page) for figure in _NUMBER.findall(claim) if figure not in known]
    assert missing == []


def test_every_option_has_its_row_in_settings() -> None:
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(\w+)=[^|]*\| `(STROP_\w+)", text, re.MULTILINE)
    assert told == [(name, f"STROP_{name.upper()}") for name, _ in told]
    assert sorted(name for name, _ in told) == sorted(field.name for field in fields(Options))
