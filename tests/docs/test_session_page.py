"""The example of docs/session.md runs as it stands there."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "session.md"


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    Path("example.py").write_text(example)  # lines of Python need a file
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(example, str(tmp_path / "example.py"), "exec"), {"__name__": "example"})
    said = out.getvalue()
    assert "100% of" in said and "main → apart" in said and "session.apply" not in said and "strop.Session" in said
    assert Path("block.json").exists()
