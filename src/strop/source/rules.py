"""The rules of the source half: a code, a name, and a docstring that is the rule's page in `strop explain` and docs.

    @rule("STR161", "tensor-item")
    def tensor_item(call: Call, …) -> Iterator[Reason]:
        '''`.item()` takes a number out of a tensor, which ends the graph.

        The value is known only when …

        Instead of:  if loss.item() > best: …
        Write:       …
        '''

Anything with a docstring can carry a rule: a function, a class. The first line is the title, without a full stop in
tables. Codes are never reused or renumbered; STR101–STR129 belong to capture (`core/codes.py`):

    STR130–STR149  TensorFlow        STR150–STR184  PyTorch        STR185–STR189  TensorFlow
    STR190–STR199  the scan itself   STR700–STR799  kernels to adopt
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from strop.core.codes import CODES

_CODE = re.compile(r"STR(?:1[3-9]\d|7\d\d)")
_PACKAGES = ("strop.source.hybridize", "strop.source.adopt")
_Anything = TypeVar("_Anything", bound=Callable[..., object])


@dataclass(frozen=True)
class Rule:
    """What a person may ask of a rule."""

    code: str
    name: str  #: in words with hyphens, such as `tensor-item`
    title: str
    text: str


RULES: dict[str, Rule] = {}


def rule(code: str, name: str) -> Callable[[_Anything], _Anything]:
    """Register the decorated function or class under a code; its docstring explains it."""

    def register(thing: _Anything) -> _Anything:
        declare(code, name, inspect.getdoc(thing) or "")
        return thing

    return register


def declare(code: str, name: str, text: str) -> str:
    """Register a rule that has no function of its own; the first line of the text is its title."""
    if not _CODE.fullmatch(code) or code in CODES:
        raise ValueError(f"{code} is not a code for rules: see the ranges in source/rules.py")
    title, _, rest = inspect.cleandoc(text).partition("\n")
    if not title:
        raise ValueError(f"rule {code} has no docstring to explain it")
    known = RULES.get(code)
    if known is not None and known.name != name:
        raise ValueError(f"{code} is both `{known.name}` and `{name}`")
    RULES[code] = Rule(code, name, title.rstrip("."), rest.strip("\n"))
    return code


def all_rules() -> dict[str, Rule]:
    """Every rule in the order of codes; imports what defines them."""
    importlib.import_module("strop.source.project.files")
    importlib.import_module("strop.source.report.ignore")
    for package in _PACKAGES:
        try:
            found = importlib.import_module(package)
        except ModuleNotFoundError as missing:
            if missing.name != package:
                raise
            continue
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            importlib.import_module(module.name)
    return dict(sorted(RULES.items()))
