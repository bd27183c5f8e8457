"""Golden text: what a printer says is kept in `tests/goldens/<name>.txt` and reviewed like code.

    from golden import golden

    def test_matmul_prints_as_a_nest():
        golden("loops/matmul", str(nest))

`pytest --update-golden` writes the files anew.
"""

from __future__ import annotations

import difflib
from pathlib import Path

HOME = Path(__file__).parent / "goldens"


class Refresh:
    """Set by `--update-golden`."""

    wanted = False


def golden(name: str, text: str, *, home: Path = HOME) -> None:
    """Assert that `text` is what the file holds (a final newline does not count)."""
    path = home / f"{name}.txt"
    text = text.rstrip("\n") + "\n"
    if Refresh.wanted:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    if not path.exists():
        raise AssertionError(f"no golden file {path.name}; run `pytest --update-golden` and review it:\n{text}")
    expected = path.read_text(encoding="utf-8")
    if text != expected:
        lines = difflib.unified_diff(expected.splitlines(), text.splitlines(), "golden", "now", lineterm="")
        told = "\n".join(lines)
        raise AssertionError(f"{name} differs from its golden file (`pytest --update-golden` accepts it):\n{told}")
