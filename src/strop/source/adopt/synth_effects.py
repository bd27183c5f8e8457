"""Writes that a replacement would be moved past: an operand that changes in place between its first use and the place
where the replacement computes everything, and names that are assigned inside of what is replaced."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from strop.source.adopt.architecture import Match
from strop.source.code import walk


def change_in_between(match: Match) -> ast.AST | None:
    """A write in place after the first operation of a match and before its result, other than those it covers."""
    own = [node for node in (*match.nodes, *match.skipped) if node.code is match.code and node.expression is not None]
    covered = {id(node.expression) for node in own}
    starts = [_start(node.expression) for node in own if node.expression is not None]
    end = max(_end(root.expression) for root in match.roots if root.expression is not None)
    for node in match.code.walk():
        if writes_in_place(node) and id(node) not in covered and min(starts) <= _start(node) < end:
            return node
    return None


def names_of_one_value(match: Match) -> tuple[str, str] | None:
    """Two names of the source that the analysis takes for one value, both read by a match.

    They may be one value; if the analysis is wrong, the replacement would take one of them twice.
    """
    graph = match.graph
    inside = {id(node) for node in (*match.nodes, *match.skipped)}
    held: dict[int, str] = {}
    for node in match.nodes:
        if node.code is not graph.code or node.chain or node.expression is None:
            continue
        for read in walk([node.expression]):
            if not isinstance(read, ast.Name) or read.id not in graph.bindings:
                continue
            value = graph.value(read.id, node.number)
            if value is None or value.is_scalar or id(value) in inside:
                continue
            other = held.setdefault(id(value), read.id)
            if other != read.id:
                return other, read.id
    return None


def assigned_inside(expressions: Iterable[ast.AST]) -> ast.NamedExpr | None:
    """`(a := …)` within expressions."""
    return next((n for one in expressions for n in ast.walk(one) if isinstance(n, ast.NamedExpr)), None)


def writes_in_place(node: ast.AST) -> bool:
    """`x.add_(y)`, `init.zeros_(x)`, `x += y`, `x[i] = y`, `f(…, out=x)`, `relu(x, inplace=True)`"""
    if isinstance(node, ast.AugAssign):
        return True
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, (ast.Store, ast.Del))
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name.endswith("_") and not name.startswith("_"):
        return True
    return any(
        keyword.arg == "out" or (keyword.arg == "inplace" and getattr(keyword.value, "value", True) is not False)
        for keyword in node.keywords
    )


def _start(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
