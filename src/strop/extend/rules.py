"""Graph rules of extensions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from strop.core.extensions import Extension, described, refused, registry
from strop.core.passes import Verdict
from strop.core.patterns import Found, Pattern
from strop.core.rewrite import Rule
from strop.graph.ir import Node
from strop.graph.passes.rewrites import FAMILIES, add_rule, rules_called
from strop.graph.verify import node_faults


def rule(given: Rule, *, family: str = "recognise", version: str = "") -> Rule:
    """Have a rule applied with a family of rules: `tidy` (algebra, views, constants), `recognise` (large operators that
    were written out), `parameters` (what can be computed from parameters before any call), `images` (convolutions and
    what resamples), or `by hand`, which is applied only where `rewrite{rules="its name"}` asks for it.

    It comes behind Strop's own rules of that family. What it makes has to have the type of what it replaces.
    """
    if not isinstance(given, Rule):
        raise refused("rule", str(given), f"it is a {type(given).__name__}", help="extend.Rule(name, pattern, make)")
    if family not in FAMILIES:
        raise refused("rule", given.name, f"there is no family `{family}`", help=f"families: {', '.join(FAMILIES)}")
    extension = described("rule", given.name, (given.make, given.when, given.pattern, family), version)
    when = None if given.when is None else _guarded_when(given.when, extension)
    guarded = Rule(given.name, _GuardedPattern(given.pattern, extension), _guarded_make(given.make, extension), when)
    registry.add(extension, lambda: add_rule(guarded, family), lambda: "Strop" if rules_called(given.name) else "")
    return given


class _GuardedPattern(Pattern):
    """A pattern that may hold functions of an extension."""

    def __init__(self, pattern: Pattern, extension: Extension) -> None:
        self.pattern, self.extension = pattern, extension

    def match(self, node: Any, found: Found) -> Iterator[Found]:
        with self.extension.blamed():
            matches = list(self.pattern.match(node, found))
        return iter(matches)

    def ops(self) -> frozenset[str] | None:
        return self.pattern.ops()

    def needs(self) -> tuple[frozenset[str], ...]:
        return self.pattern.needs()


def _guarded_when(when: Callable[..., Any], extension: Extension) -> Callable[..., Verdict | bool]:
    @functools.wraps(when)
    def guarded(**given: Any) -> Verdict | bool:
        with extension.blamed():
            verdict = when(**given)
        if not isinstance(verdict, Verdict | bool):
            raise extension.problem(f"answered {verdict!r:.60}: its `when` returns a bool, `yes()` or `no(reason)`")
        return verdict

    return guarded


def _guarded_make(make: Callable[..., Any], extension: Extension) -> Callable[..., Node | None]:
    """`make`, whose result is compared with the root of the match, whether it asks for that or not."""
    asked = inspect.signature(make)

    def guarded(root: Node, **given: Any) -> Node | None:
        with extension.blamed():
            made = make(**({"root": root} if "root" in asked.parameters else {}), **given)
        if made is None:
            return None
        if not isinstance(made, Node):
            raise extension.problem(f"made {made!r:.60} of %{root.name}: its `make` returns a node, or None")
        if made.types != root.types:
            has, should = (", ".join(map(str, node.types)) for node in (made, root))
            raise extension.problem(f"made a value of type {has} of %{root.name}, which is {should}")
        for node in _fresh(made, root, given):
            for fault in node_faults(node):
                raise extension.problem(f"made a wrong node of %{root.name}: {fault}")
        return made

    own = inspect.Parameter("root", inspect.Parameter.KEYWORD_ONLY)
    others = [parameter for name, parameter in asked.parameters.items() if name != "root"]
    positional = [p for p in others if p.kind is not inspect.Parameter.VAR_KEYWORD]
    rest = [p for p in others if p.kind is inspect.Parameter.VAR_KEYWORD]
    keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in positional]
    guarded.__signature__ = inspect.Signature([own, *keywords, *rest])  # type: ignore[attr-defined]
    return guarded


def _fresh(made: Node, root: Node, given: dict[str, Any]) -> Iterator[Node]:
    """The nodes of a replacement that were not there before: those above what the pattern has bound."""
    known = {root, *root.inputs, *(value for value in given.values() if isinstance(value, Node))}
    stack = [made]
    while stack:
        node = stack.pop()
        if node not in known:
            known.add(node)
            yield node
            stack.extend(node.inputs)
