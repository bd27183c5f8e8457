"""Syntax by place: from an event back to the expression that it speaks of, and to what stands around that.

Everything is found once per program and kept as long as the program lives.
"""

from __future__ import annotations

import ast
from weakref import WeakKeyDictionary

from strop.source.facts import Place
from strop.source.hybridize.guards import Guards, Truth
from strop.source.interpret.events import Call
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Value
from strop.source.project.declarations import Code, children


class _KnownSyntax:
    """What has been found out about one program."""

    def __init__(self) -> None:
        self.guards: dict[Code, Guards] = {}
        self.syntax: dict[Code, dict[tuple[int, int, int, int], ast.AST]] = {}
        self.parents: dict[Code, dict[ast.AST, ast.AST]] = {}
        self.owners: dict[str, list[tuple[int, int, Code]]] = {}
        self.places: dict[Place, tuple[Truth, str]] = {}
        self.reached: dict[str, list[tuple[str, tuple[Place, ...]]]] = {}


_known: WeakKeyDictionary[Program, _KnownSyntax] = WeakKeyDictionary()


def _of(program: Program) -> _KnownSyntax:
    found = _known.get(program)
    if found is None:
        found = _known[program] = _KnownSyntax()
    return found


def guards_of(program: Program, code: Code) -> Guards:
    cache = _of(program).guards
    if code not in cache:
        cache[code] = Guards(program, code)
    return cache[code]


def syntax_of(program: Program, code: Code) -> dict[tuple[int, int, int, int], ast.AST]:
    """The expressions of a function by their span; the outermost one where several share it."""
    cache = _of(program).syntax
    if code not in cache:
        found: dict[tuple[int, int, int, int], ast.AST] = {}
        for node in code.walk():
            if isinstance(node, ast.expr):
                end, column = node.end_lineno or node.lineno, node.end_col_offset or 0
                found.setdefault((node.lineno, node.col_offset, end, column), node)
        cache[code] = found
    return cache[code]


def parents_of(program: Program, code: Code) -> dict[ast.AST, ast.AST]:
    cache = _of(program).parents
    if code not in cache:
        cache[code] = {child: node for node in code.walk() for child in children(node)}
    return cache[code]


def node_at(program: Program, code: Code, place: Place) -> ast.AST | None:
    return syntax_of(program, code).get(span(place))


def span(place: Place) -> tuple[int, int, int, int]:
    return place.line, place.column, place.end_line, place.end_column


def reaching(program: Program, id: str) -> list[tuple[str, tuple[Place, ...]]]:
    """`program.reached`, kept for the function that was asked about last: several rules ask in turn."""
    kept = _of(program).reached
    if id not in kept:
        kept.clear()
        kept[id] = program.reached(id)
    return kept[id]


def owner_of(program: Program, place: Place) -> Code | None:
    """The innermost function around a place."""
    owners = _of(program).owners
    if not owners:
        for code in program.codes():
            if not isinstance(code.node, (ast.ClassDef, ast.Module)):
                own = code.place()
                owners.setdefault(code.module.file, []).append((own.line, own.end_line, code))
    around = [found for found in owners.get(place.file, ()) if found[0] <= place.line <= found[1]]
    return max(around, key=lambda found: found[0])[2] if around else None


def reach_of(program: Program, place: Place) -> tuple[Truth, str]:
    """Whether the place of a call is reached within its function, and the condition that decides."""
    kept = _of(program).places
    if place not in kept:
        owner = owner_of(program, place)
        truth, guard = guards_of(program, owner).reached(place) if owner is not None else ("always", None)
        kept[place] = truth, guard.text() if guard is not None else ""
    return kept[place]


def value_of(program: Program, code: Code, node: ast.expr) -> Value | None:
    """What is known of an expression: the result of a call or operator, a parameter, or a variable that is set once."""
    if isinstance(node, ast.Name):
        return _variable(program, code, node.id)
    at = span(code.place(node))
    return next((e.result for e in program.events(code.id) if isinstance(e, Call) and span(e.place) == at), None)


def _variable(program: Program, code: Code, name: str) -> Value | None:
    stores = [n for n in code.walk() if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
    parameter = program.parameters(code.id).get(name)
    if not stores:
        return parameter.value if parameter is not None else None
    parent = parents_of(program, code).get(stores[0])
    if len(stores) > 1 or parameter is not None or not isinstance(parent, ast.Assign):
        return None
    return None if isinstance(parent.value, ast.Name) else value_of(program, code, parent.value)
