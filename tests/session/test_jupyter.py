"""The example notebook in a real Jupyter kernel: everything in it displays itself by drawings, not by its `repr`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SVG = "{http://www.w3.org/2000/svg}"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """The HTML that each cell displayed, by its source."""
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install nbclient ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install nbclient ipykernel")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install nbclient ipykernel")
    book = nbformat.read(EXAMPLES / "session.ipynb", as_version=4)
    nbformat.validate(book)
    folder = tmp_path_factory.mktemp("jupyter")
    env = {**os.environ, "JUPYTER_RUNTIME_DIR": str(folder), "IPYTHONDIR": str(folder)}
    client = nbclient.NotebookClient(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": EXAMPLES}}
    )
    client.execute(env=env)
    return {
        cell.source: [one.data.get("text/html", "") for one in cell.outputs if one.output_type == "execute_result"]
        for cell in book.cells
        if cell.cell_type == "code"
    }


def shown(outputs, last_line):
    found = [html for source, some in outputs.items() if source.splitlines()[-1] == last_line for html in some]
    assert found and all(found), last_line
    return [ElementTree.fromstring(html) for html in found]


def test_a_session_and_its_graphs_are_drawings_in_jupyter(outputs):
    for line in ("session", 'session.view("graph")', 'session.view("plan")'):
        (page,) = shown(outputs, line)
        assert len(list(page.iter(f"{SVG}rect"))) > 5 and len(list(page.iter(f"{SVG}path"))) > 5, line


def test_a_nest_is_text_and_a_profile_has_bars(outputs):
    (nest,) = shown(outputs, 'session.nests["project.conv"]')
    assert "nest project.conv" in "".join(nest.itertext())
    before, after = shown(outputs, "session.measure()")
    assert "project.conv" in "".join(before.itertext()) and len(list(after.iter("span"))) > 5


def test_nothing_that_is_displayed_runs_code(outputs):
    for some in outputs.values():
        for html in some:
            assert "<script" not in html and "javascript:" not in html
            assert not re.search(r"<[^>]*\son\w+\s*=", html)
