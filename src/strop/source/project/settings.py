"""What a project says of itself in `[tool.strop]` of its pyproject.toml.

[tool.strop]
include = ["*.py"]                  # names of files to look at
exclude = ["vendored", "gen_*.py"]  # names, or paths from the folder that is scanned
select = ["STR15", "STR161"]        # codes or beginnings of codes; without it every code
ignore = ["STR170"]
per-file-ignores = { "tests/*" = ["STR1"] }
speculate = true                    # take `train_step` and `call` at their names' word
hints = true                        # take type hints at their word
max-lines = 50000
baseline = "strop-baseline.json"
rules = ["tools/rules"]             # folders with rules of your own for kernels to adopt
target = "cpu"                      # or "cuda": which kernels are worth adopting
with-strop = true                   # also Strop's own kernels and backend, on which the program then depends
signatures = false                  # propose `input_signature`s from what the callers in these files pass
"""

from __future__ import annotations

import fnmatch
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from strop.core.problem import Problem
from strop.source.project.files import MAX_LINES
from strop.source.rules import all_rules

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PYPROJECT = "pyproject.toml"
TARGETS = ("cpu", "cuda")


@dataclass(frozen=True)
class Settings:
    """How to scan. Everything is plain data: it is part of the cache key."""

    include: tuple[str, ...] = ("*.py",)
    exclude: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    speculate: bool = True
    hints: bool = True
    max_lines: int = MAX_LINES
    baseline: str | None = None
    rules: tuple[str, ...] = ()
    target: str = "cpu"
    with_strop: bool = False
    signatures: bool = False
    root: str = field(default=".", compare=False)  #: the folder of pyproject.toml

    @classmethod
    def of(cls, paths: Sequence[str], *, config: str | None = None, **given: Any) -> Settings:
        """The settings of the project that the first path belongs to; what is given here goes before them."""
        file = Path(config) if config else _nearest(paths[0] if paths else ".")
        found = cls() if file is None else _read(file)
        return _checked(replace(found, **{k: v for k, v in given.items() if v is not None}))

    def wants(self, code: str, file: str) -> bool:
        """Is this code to be reported for this file? Without a file: is it looked for at all?"""
        if self.select and not code.startswith(self.select):
            return False
        if self.ignore and code.startswith(self.ignore):
            return False
        if not file:
            return True
        here = os.path.relpath(file, self.root).replace(os.sep, "/")
        return not any(
            code.startswith(codes) and (fnmatch.fnmatch(here, pattern) or fnmatch.fnmatch(Path(file).name, pattern))
            for pattern, codes in self.per_file_ignores
        )


def _nearest(path: str) -> Path | None:
    start = Path(path).absolute()
    return next((folder / _PYPROJECT for folder in (start, *start.parents) if (folder / _PYPROJECT).is_file()), None)


def _read(file: Path) -> Settings:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Problem("STR007", f"{file} cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Problem("STR007", f"{file} is not valid TOML: {error}") from None
    tool = content.get("tool", {})
    table = tool.get("strop", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise Problem("STR007", f"[tool.strop] in {file} is not a table")
    return replace(Settings(**{k: _value(k, v, file) for k, v in _known(table, file)}), root=str(file.parent))


def _known(table: Mapping[str, Any], file: Path) -> list[tuple[str, Any]]:
    names = [f.name for f in fields(Settings) if f.name != "root"]
    for key in table:
        if key.replace("-", "_") not in names:
            known = ", ".join(name.replace("_", "-") for name in names)
            raise Problem("STR007", f"[tool.strop] in {file}: there is no setting `{key}`", help=f"known: {known}")
    return [(key.replace("-", "_"), value) for key, value in table.items()]


def _value(name: str, value: Any, file: Path) -> Any:
    kind = next(str(f.type) for f in fields(Settings) if f.name == name)
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "int" and isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    if kind == "str | None" and isinstance(value, str):
        return str(file.parent / value)
    if name == "rules" and _is_texts(value):
        return tuple(str(file.parent / folder) for folder in value)
    if kind == "tuple[str, ...]" and _is_texts(value):
        return tuple(value)
    if name == "target" and value in TARGETS:
        return value
    if name == "per_file_ignores" and isinstance(value, dict) and all(_is_texts(codes) for codes in value.values()):
        return tuple((pattern, tuple(codes)) for pattern, codes in value.items())
    expected = {
        "bool": "true or false",
        "int": "a positive number",
        "str | None": "a path",
        "tuple[str, ...]": "a list of texts",
        "str": " or ".join(TARGETS),
    }.get(kind, 'a table such as { "tests/*" = ["STR161"] }')
    raise Problem("STR007", f"[tool.strop] in {file}: `{name.replace('_', '-')}` must be {expected}, got {value!r}")


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _checked(settings: Settings) -> Settings:
    """Selections must name something: a misspelt code would silently find nothing."""
    if settings.target not in TARGETS:
        raise Problem("STR001", f"there is no target `{settings.target}`", help=" or ".join(TARGETS))
    if settings.rules:  # mistakes in them end the scan before it begins
        from strop.source.adopt.report import known

        known(settings.rules)
    asked = (*settings.select, *settings.ignore, *(c for _, codes in settings.per_file_ignores for c in codes))
    for code in asked if asked else ():
        if not code or not any(known.startswith(code) for known in all_rules()):
            raise Problem("STR001", f"no rule's code begins with `{code}`", help="`strop explain` lists the codes")
    return settings
