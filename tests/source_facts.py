"""Facts of small programs, for the tests of the source half."""

from __future__ import annotations

import textwrap
from pathlib import Path

from strop.source.facts import Function
from strop.source.project.settings import Settings
from strop.source.scan import scan


def facts(folder: Path, source: str | dict[str, str], *, speculate: bool = True) -> dict[str, Function]:
    """Scan a program (`import tensorflow as tf` is added to single files); the facts by function name."""
    files = (
        source if isinstance(source, dict) else {"program.py": "import tensorflow as tf\n" + textwrap.dedent(source)}
    )
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
    result = scan([str(folder)], Settings(speculate=speculate))
    assert not result.skipped, result.skipped
    return {function.function: function for function in result.functions}
