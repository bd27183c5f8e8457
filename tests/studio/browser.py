"""A real browser for the studio's tests: the system's Chromium, driven by Playwright."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
VIEWS = ("Graph", "Code", "Roofline", "Time", "Memory", "History", "Compare", "Training")


@contextmanager
def launched(*arguments: str) -> Iterator[Any]:
    """A browser; the test is skipped with a reason where there is none."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=[*root, *arguments])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, address: str, **context: Any) -> Iterator[Any]:
    """A page that has shown its model; what it logs as an error fails the test."""
    made = browser.new_context(viewport={"width": 1440, "height": 900}, **context)
    page = made.new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(address)
    page.evaluate("studio.ready")
    yield page
    made.close()
    assert wrong == []


def until(page: Any, expression: str, argument: Any = None, seconds: float = 30.0) -> None:
    """Wait until an expression is true on the page. (Playwright's own way to wait is forbidden by the page's policy.)"""
    end = time.monotonic() + seconds
    while not page.evaluate(expression, argument):
        assert time.monotonic() < end, f"never true: {expression}; the page says: {said(page)}"
        page.wait_for_timeout(20)


def settled(page: Any) -> None:
    """Wait until every request is answered."""
    until(page, "studio.idle()")


def show(page: Any, view: str) -> None:
    page.click(f"#tab-{view}")
    until(page, f"document.getElementById('view').dataset.view === '{view}'")
    settled(page)


def said(page: Any) -> str:
    text: str = page.inner_text("#said")
    return text


def done(page: Any, what: str) -> str:
    """Wait until the page says that a command is done; its sentence."""
    until(page, "what => document.getElementById('said').textContent.startsWith(what + ': done')", what)
    settled(page)
    return said(page)


def total(page: Any, label: str) -> str:
    text: str = page.inner_text(f"[data-total='{label}']")
    return text


def axe(page: Any) -> list[str]:
    """What axe-core finds on the page as it is: rules that are broken, with the first place of each."""
    path = os.environ.get("STROP_AXE")
    if not path or not Path(path).is_file():
        pytest.skip("axe-core is not at hand: `make test-studio` fetches it and sets STROP_AXE")
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(Path(path).read_text(encoding="utf-8"))
    found = page.evaluate(
        "axe.run().then(r => r.violations.map(v => ({rule: v.id, what: v.help, where: v.nodes.map(n => n.html)})))"
    )
    return [f"{one['rule']}: {one['what']}: {json.dumps(one['where'][0])[:300]}" for one in found]
