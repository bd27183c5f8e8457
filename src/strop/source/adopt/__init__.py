"""Adopting faster kernels: rules over what a model computes, and the edits that put the kernel in its place.

names, operations       what a name means; which spellings mean one operation
build … extract         source → `Graph` (architecture.py): operations, layers, what flows where
language/, rulebook     rule files → `Rule`
match, guards, find     rules × graphs → `Match`
synth*                  `Match` → edits
"""

from __future__ import annotations

from collections.abc import Sequence

from strop.source.facts import Finding
from strop.source.project.modules import Project


def findings(
    project: Project, rules: Sequence[str] = (), target: str = "cpu", asked: Sequence[str] = (), strop: bool = False
) -> list[Finding]:
    """What could be adopted in a project's scanned files; `rules` are folders, `asked` codes that shall run anyway.

    `strop` allows kernels of Strop's own, which the edited program then imports.
    """
    from strop.source.adopt.report import findings as found

    return found(project, rules, target, asked, strop)
