"""Looks for every rule in every function of a project, and says what it found."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence

from strop.source.adopt.architecture import Graph, Match, Node, Refusal
from strop.source.adopt.build import Many, Value
from strop.source.adopt.extract import Architecture
from strop.source.adopt.guards import GUARDS, always_returned
from strop.source.adopt.hooks import bypassed, replaced, watched
from strop.source.adopt.kinds import Kinds
from strop.source.adopt.language.rule import KernelRule
from strop.source.adopt.match import Matcher
from strop.source.adopt.scope import Scope
from strop.source.project.declarations import Class, Code, Module

_OF_SCRIPTS = ("optimizer", "data_loader")  #: families that concern what a script does at module level
_MAX_SOLUTIONS = 12  #: ways to bind a pattern at one place that are tried against the guards


def in_project(architecture: Architecture, rules: Sequence[KernelRule]) -> list[Match]:
    """The matches in all scanned files, by place."""
    matchers = _matchers(rules)
    outside = _matchers(rule for rule in rules if _is_for_scripts(rule))
    found: list[Match] = []
    for module in architecture.project.scanned.values():
        for code, cls in _functions(architecture, module):
            found += _in_graph(architecture.graph(code, cls), matchers)
        found += _in_graph(architecture.graph(module.code), outside)
    kept = _kept(found)
    scope = Scope(architecture.names)
    for match in kept:
        if match.rule.define:
            match.refusals += list(itertools.islice(scope.refusals(match), 3))
        elif match.rule.use:
            _respect_hooks(match)
    return kept


def _respect_hooks(match: Match) -> None:
    """A layer that is called no more must not be one that somebody watches."""
    for layer in bypassed(match):
        place, named = watched(layer)
        other = replaced(layer)
        if other:
            why = f"{other} puts something else in the place of `{layer.path}`, or of a layer of its name"
            match.refusals.append(Refusal(why, match.place))
        elif named:
            match.refusals.append(Refusal(f"{place} hooks `{layer.path}`, which would not be called", match.place))
        elif place:
            match.assumptions.append(f"nothing hooks `{layer.path}` ({place} registers hooks)")


def in_graph(graph: Graph, rules: Iterable[KernelRule]) -> list[Match]:
    """The matches in one function."""
    return list(_in_graph(graph, _matchers(rules)))


def _matchers(rules: Iterable[KernelRule]) -> list[Matcher]:
    return [Matcher(rule, pattern) for rule in rules for pattern in rule.patterns]


def _is_for_scripts(rule: KernelRule) -> bool:
    """Whether a rule can be applied at module level, where functions may read every name: it moves nothing."""
    return (
        all(template.startswith(("+(", "around(", "loop(")) for _, template in rule.use) and rule.family in _OF_SCRIPTS
    )


def _functions(architecture: Architecture, module: Module) -> Iterator[tuple[Code, Class | None]]:
    """Every function as it stands, and inherited methods again in classes whose own `__init__` sets what they read."""
    for code in module.functions:
        if code.node not in module.shadowed:
            yield code, None
    names = architecture.names
    scanned = set(architecture.project.scanned.values())
    for cls in module.classes.values():
        maker = names.methods(cls).get("__init__")
        if maker is None:
            continue
        own = {name for name in _attributes(maker, ast.Store) if _matters(architecture.attributes(cls).get(name))}
        for base in names.order(cls)[1:]:
            if not isinstance(base, Class) or base.module not in scanned:
                continue
            for name, code in names.methods(base).items():
                if names.method(cls, name) is not code or name == "__init__" or code.receiver() is None:
                    continue
                if own & _attributes(code, ast.Load):
                    yield code, cls


def _matters(value: Value | None, depth: int = 4) -> bool:
    """A layer or tensor, of which another one makes another computation; a number is a symbol, whichever it is. Lists
    may hold themselves."""
    if isinstance(value, Many):
        return depth > 0 and any(_matters(item, depth - 1) for item in value.items)
    return isinstance(value, Node) and not value.is_scalar


def _attributes(code: Code, how: type[ast.expr_context]) -> set[str]:
    """What a method reads from, or sets on, its own object."""
    receiver = code.receiver()
    return {
        node.attr
        for node in code.walk()
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, how)
        and isinstance(node.value, ast.Name)
        and node.value.id == receiver
    }


def _in_graph(graph: Graph, matchers: Sequence[Matcher]) -> Iterator[Match]:
    kinds = Kinds(graph)
    for matcher in matchers:
        for solutions in matcher.places(graph, kinds):
            match = next((m for m in itertools.islice(solutions, _MAX_SOLUTIONS) if _stands(m)), None)
            if match is not None:
                yield match


def _stands(match: Match) -> bool:
    """Not inside a helper as a whole (that is found in the helper), and as the rule's guards want it."""
    if all(node.chain for node in match.nodes):
        return False
    if "" in match.conditions:
        match.refusals.append(Refusal(f"it is computed so only in one branch of `{match.conditions['']}`", match.place))
    for guard in match.rule.guards:
        why = GUARDS[guard.name](match, *guard.arguments)
        if guard.negated:
            why = "" if why else f"not {guard.name}"
        if why and guard.assumes:
            match.assumptions.append(why)
        elif why and not guard.refuses:
            return False
        elif why:
            final = guard.name == "not_returned" and always_returned(match, *guard.arguments)
            match.refusals.append(Refusal(why, match.place, final))
    return True


def _kept(found: Iterable[Match]) -> list[Match]:
    """Each place once per family: the rule of smaller order, then the larger match; half of another is no new place."""
    ordered = sorted(found, key=lambda m: ("" in m.conditions, m.rule.order, -len(m.nodes), m.place, m.rule.name))
    taken: set[tuple[object, ...]] = set()
    kept = []
    for match in ordered:
        keys = {(match.rule.family, *_where(node)) for node in match.nodes}
        roots = {(match.rule.family, *_where(root)) for root in match.roots}
        if roots & taken or 2 * len(keys & taken) >= len(keys):
            continue
        taken |= keys | {(match.rule.family, node.expression) for node in match.nodes if node.chain}
        kept.append(match)
    return sorted(kept, key=lambda m: (m.place, m.rule.code))


def _where(node: Node) -> tuple[object, ...]:
    """An expression and the calls that led to it: the same in every graph that holds it."""
    return node.expression, *(call for _, call in node.chain)
