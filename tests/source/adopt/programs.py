"""Small programs for the tests of adopt/: what is understood of them, and which rules find something."""

from __future__ import annotations

import textwrap
from pathlib import Path

from strop.source.adopt import find, rulebook, show
from strop.source.adopt.architecture import Match
from strop.source.adopt.extract import Architecture
from strop.source.adopt.names import QuickProject

HEADER = """import math
import torch
import torch.nn.functional as F
from torch import nn

"""


def project(tmp_path: Path, source: str) -> Architecture:
    file = tmp_path / "model.py"
    file.write_text(HEADER + textwrap.dedent(source))
    return Architecture(QuickProject([str(file)], [str(tmp_path)]))


def understood(tmp_path: Path, source: str, name: str) -> str:
    """What `strop show-architecture model.py:name` prints."""
    project(tmp_path, source)
    return show.file(str(tmp_path / "model.py"), name)


def matches(
    tmp_path: Path, source: str, *, target: str = "cpu", family: str = "", folders: tuple[str, ...] = ()
) -> list[Match]:
    """All matches of a program, also of rules that are off by default."""
    chosen = [rule.allowed(strop=True) for rule in rulebook.load(folders) if target in rule.targets]
    rules = [rule for rule in chosen if rule is not None]
    if family:
        rules = [rule for rule in rules if rule.family == family]
    return find.in_project(project(tmp_path, source), rules)


def names(tmp_path: Path, source: str, family: str = "") -> list[str]:
    return [match.rule.name for match in matches(tmp_path, source, family=family)]


def function(body: str, parameters: str = "x") -> str:
    return f"def f({parameters}):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"
