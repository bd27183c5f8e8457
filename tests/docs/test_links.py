"""Links, anchors and paths in README, CONTRIBUTING and the pages of docs/ lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "strop"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_PATH = re.compile(r"\.?[\w.*-]+(?:/[\w.*-]+)*/?", re.ASCII)
_FILE = (".py", ".md", ".toml", ".json", ".rule", ".txt", ".svg", ".yaml")


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(page: Path) -> Iterator[str]:
    for link in _LINK.findall(prose(page)):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


def paths(page: Path) -> Iterator[str]:
    """What stands in backticks and means a file or folder of the project: it has a slash, and either ends like a file or
    begins with a folder that there is."""
    for quoted in _QUOTED.findall(prose(page)):
        first, slash, _ = quoted.partition("/")
        if not slash or not _PATH.fullmatch(quoted):
            continue
        if quoted.endswith(_FILE) or (ROOT / first).is_dir() or (PACKAGE / first).is_dir():
            yield quoted


def is_there(path: str, page: Path) -> bool:
    """Whether a path, or a pattern of paths, is found from the project's root, its package or the page."""
    return any(next(base.glob(path.rstrip("/")), None) is not None for base in (ROOT, PACKAGE, page.parent))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_and_anchor_leads_somewhere(page: Path) -> None:
    assert list(broken_links(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_in_backticks_exists(page: Path) -> None:
    assert [path for path in paths(page) if not is_there(path, page)] == []


def test_a_link_a_path_and_an_anchor_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One title\n[a](page.md#one-title) [b](page.md#two) [c](gone.md) `schedule/gone.py` `schedule/`\n"
    )
    assert list(broken_links(page)) == ["page.md#two", "gone.md"]
    assert [path for path in paths(page) if not is_there(path, page)] == ["schedule/gone.py"]


def test_every_note_is_in_their_list() -> None:
    notes = ROOT / "docs" / "notes"
    listed = set(_LINK.findall((notes / "README.md").read_text(encoding="utf-8")))
    assert {note.name for note in notes.glob("2*.md")} <= listed
