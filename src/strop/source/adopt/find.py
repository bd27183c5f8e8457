"""Looks for every rule in every function of a project, and says what it found."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from strop.source.adopt import scope
from strop.source.adopt.architecture import Graph, Match, Node, Refusal
from strop.source.adopt.extract import Architecture
from strop.source.adopt.guards import GUARDS
from strop.source.adopt.language.rule import Rule
from strop.source.adopt.match import Matcher, by_kind, required_kinds
from strop.source.code import Class, Code, Module


def in_project(architecture: Architecture, rules: Sequence[Rule]) -> list[Match]:
    """The matches in all scanned files, by place."""
    modules = architecture.project.scanned.values()
    kept = _kept(match for module in modules for match in in_module(architecture, module, rules))
    for match in kept:
        if match.rule.define:
            match.refusals += list(itertools.islice(scope.refusals(match, architecture.names), 3))
    return kept


def in_module(architecture: Architecture, module: Module, rules: Sequence[Rule]) -> Iterator[Match]:
    for code, cls in _functions(architecture, module):
        yield from in_graph(architecture.graph(code, cls), rules)


def _functions(architecture: Architecture, module: Module) -> Iterator[tuple[Code, Class | None]]:
    """Every function as it stands, and inherited methods again in classes that define other layers."""
    for code in module.functions:
        if code.node not in module.shadowed:
            yield code, None
    names = architecture.names
    for cls in module.classes.values():
        if "__init__" not in names.methods(cls):
            continue
        for base in names.order(cls)[1:]:
            if isinstance(base, Class):
                for name, code in names.methods(base).items():
                    if names.method(cls, name) is code and name != "__init__" and code.receiver() is not None:
                        yield code, cls


def in_graph(graph: Graph, rules: Iterable[Rule]) -> Iterator[Match]:
    kinds = by_kind(graph)
    for rule in rules:
        for pattern in rule.patterns:
            if not required_kinds(pattern) <= kinds.keys():
                continue
            for match in Matcher(rule, pattern, graph, kinds).matches():
                if _stands(match):
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
        if why and not guard.refuses:
            return False
        if why:
            match.refusals.append(Refusal(why, match.place))
    return True


def _kept(found: Iterable[Match]) -> list[Match]:
    """Each place once per family: the rule of smaller order, then the larger match; half of another is no new place."""
    ordered = sorted(found, key=lambda m: (m.rule.order, -len(m.nodes), m.place, m.rule.name))
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
