"""Terms of patterns: what they bind, in which order they are tried, and sums and products without their constants."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import replace

from strop.source.adopt.architecture import Node
from strop.source.adopt.language.rule import Expression

_TOLERANCE = 1e-4  #: of constants: 0.7978845608 is √(2/π)


def bound_inside(term: Expression) -> set[str]:
    """Names of lines and layers inside a term: each branch has its own."""
    found = {term.bind} if term.bind else set()
    if term.kind == "layer":
        found.add(term.name)
    return found.union(*[bound_inside(child) for child in term.children])


def renamed(terms: Sequence[Expression], bound: Container[str]) -> tuple[Expression, ...]:
    """`mask` becomes `mask_2` where `mask` is bound."""
    found = []
    for term in terms:
        name = term.name
        if term.kind == "variable":
            count = 2
            while name in bound and count < 5:
                name = f"{term.name}_{count}"
                count += 1
        found.append(replace(term, name=name))
    return tuple(found)


def without_numbers(
    terms: Sequence[Expression], parts: list[Node], kind: str
) -> tuple[Sequence[Expression], list[Node]] | None:
    """Terms and parts of a sum that are left to be matched one by one, if its constants agree and the count does."""
    constants = [one.value for one in terms if one.kind == "const"]
    if constants:
        numbers = [one for one in parts if _is_number(one)]
        total = math.prod if kind == "mul" else sum
        expected, found = float(total(constants)), float(total(one.value for one in numbers))
        if not numbers or not math.isclose(expected, found, rel_tol=_TOLERANCE):
            return None
        terms = [one for one in terms if one.kind != "const"]
        parts = [one for one in parts if not _is_number(one)]
    return (terms, parts) if len(terms) == len(parts) else None


def powers_apart(terms: Sequence[Expression]) -> list[Expression]:
    """Powers of the pattern taken apart, as `_parts` does with those of the graph."""
    found: list[Expression] = []
    for term in terms:
        if term.kind == "call" and term.name == "square":
            found += [term.children[0]] * 2
        elif term.kind == "call" and term.name == "pow" and term.children[1].value in (3, 4):
            found += [term.children[0]] * int(term.children[1].value)
        else:
            found.append(term)
    return found


def names_twice(terms: Sequence[Expression]) -> bool:
    names = [term.name for term in terms if term.kind == "variable"]
    return len(set(names)) < len(names)


def rarity(term: Expression) -> int:
    """Operations before alternatives before optional ones before names: the first to fail comes first."""
    if term.kind in ("call", "layer"):
        return 2 if term.repeat else 0
    return 1 if term.kind == "either" else 3 if term.kind == "variable" else 4


def _is_number(node: Node) -> bool:
    return node.kind == "const" and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def is_const(node: Node, value: object) -> bool:
    if node.kind == "symbol" and isinstance(value, str):
        return node.text == value
    if node.kind != "const":
        return False
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return bool(node.value == value) and (value is not None or node.value is None)
    if isinstance(value, (int, float)) and _is_number(node):
        return math.isclose(value, node.value, rel_tol=_TOLERANCE)
    if isinstance(value, (int, float)) and isinstance(node.value, tuple) and len(node.value) == 1:
        return bool(node.value[0] == value)
    return False
