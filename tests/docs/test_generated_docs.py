"""The tables of docs/ come from the code, and say what the code says now."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "tools" / "generate_docs.py")
generate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(generate)


@pytest.mark.parametrize("page", generate.PAGES)
def test_a_page_is_what_the_code_says(page):
    written = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert generate.PAGES[page]() == written, "run `python tools/generate_docs.py` and review what changed"


@pytest.mark.slow
@pytest.mark.parametrize("page", generate.ZOO_PAGES)
def test_a_page_about_the_zoo_is_what_the_compiler_does(page):
    written = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert generate.ZOO_PAGES[page]() == written, "run `python tools/generate_docs.py --zoo` and review what changed"


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]), ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert link.startswith("http") or (page.parent / link).exists(), link


def test_every_problem_that_is_raised_has_an_explanation():
    from strop.core.codes import CODES

    raised = set()
    for file in (ROOT / "src").rglob("*.py"):
        raised |= set(re.findall(r"Problem\(\s*\"(STR\d+)\"", file.read_text(encoding="utf-8")))
    assert raised and raised <= set(CODES)
