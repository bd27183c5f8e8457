"""The rules: read from `rules/` and from the folders that a project adds, checked, in one order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from strop.core.problem import Problem
from strop.source.adopt.extract import Architecture
from strop.source.adopt.find import in_graph
from strop.source.adopt.guards import GUARDS
from strop.source.adopt.language.parser import read
from strop.source.adopt.language.rule import KernelRule
from strop.source.project.declarations import Module
from strop.source.project.modules import Project

_GROUP = re.compile(r"\[\[!\$\w+:.*?\]\]")
HOME = Path(__file__).parent / "rules"


def load(folders: tuple[str, ...] = ()) -> tuple[KernelRule, ...]:
    """All rules by order and name; two with one code or one name are an error."""
    return _loaded(tuple(str(Path(folder).resolve()) for folder in folders))


@lru_cache(maxsize=8)
def _loaded(folders: tuple[str, ...]) -> tuple[KernelRule, ...]:
    found = list(built_in())
    for folder in folders:
        if not Path(folder).is_dir():
            raise Problem("STR010", f"there is no folder of rules `{folder}`")
        for file in sorted(Path(folder).glob("*.rule")):
            rule = read(file, guards=GUARDS)
            _check(rule, found)
            found.append(rule)
    return tuple(sorted(found, key=lambda rule: (rule.order, rule.name)))


@lru_cache(maxsize=1)
def built_in() -> tuple[KernelRule, ...]:
    """The rules that come along; the tests check them as `_check` does those of a project."""
    return tuple(read(file, guards=GUARDS) for file in sorted(HOME.glob("*.rule")))


def _check(rule: KernelRule, others: Iterable[KernelRule]) -> None:
    for other in others:
        if rule.code == other.code or rule.name == other.name:
            what = rule.code if rule.code == other.code else f"`{rule.name}`"
            raise Problem("STR010", f"{what} is both {other.file} and {rule.file}", where=f"{rule.file}:1")
    if matches_itself(rule):
        message = f"`{rule.name}` matches its own output: `strop fix` would apply it again and again"
        raise Problem("STR010", message, where=f"{rule.file}:1", help="narrow the pattern, or change the replacement")


def matches_itself(rule: KernelRule) -> bool:
    """Is the pattern found in what the replacement writes?"""
    for _, template in (*rule.use, *rule.strop_use):
        text = _GROUP.sub("", template)
        text = re.sub(r"\[\[(?:\$\w+:)?(.*?)\]\]", r"\1", text.replace("$$", ""))
        names = sorted(set(re.findall(r"\$(\w+)", text)))
        text = re.sub(r"\$(\w+)(?::\w+)?", r"\1", text)
        source = "\n".join([*rule.imports, f"def replacement({', '.join(names)}):", f"    return {text}"])
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        module = Module("replacement", rule.file, tree, False, source.count("\n"))
        graph = Architecture(Project([], [])).graph(module.functions[0])
        if any(True for _ in in_graph(graph, [rule])):
            return True
    return False
