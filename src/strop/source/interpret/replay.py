"""What an expression gave when a function was run the last time.

A function is run again whenever something grew that it had read, and little of what it does depends on that. So each
run keeps what the expressions of its statements read and gave; in the next run, an expression that would read the same
gives what it gave. That changes nothing: what an expression does to the heap only grows the heap, and was done already.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from strop.source.project.declarations import children

if TYPE_CHECKING:
    from strop.source.interpret.heap import Cell, FunctionContext, Object
    from strop.source.interpret.values import Value

Happened = tuple[ast.AST, str, Any]  #: where, the kind of event, and what belongs to it
SMALL = 6  #: nodes of syntax that are evaluated sooner than looked up, unless a call is among them
#: what reaches beyond its own value: variables that it binds, results of a generator
_NOT_KEPT = frozenset({ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await})


class Reads:
    """What an expression has read of the heap, as it was then, and the events that it noted."""

    __slots__ = ("cells", "events", "missing", "objects", "results")

    def __init__(self) -> None:
        self.cells: dict[Cell, Value] = {}
        self.objects: dict[Object, int] = {}
        self.results: dict[FunctionContext, Value] = {}
        self.missing: list[tuple[dict[str, Cell], str]] = []  #: attributes that were not there
        self.events: list[tuple[tuple[int, str], Happened, bool]] = []  #: as `Activation` remembers them

    def same(self) -> bool:
        """Whether all of it is as it was."""
        for cell, value in self.cells.items():
            if cell.value is not value:
                return False
        for node, value in self.results.items():
            if node.result is not value:
                return False
        for obj, version in self.objects.items():
            if obj.version != version:
                return False
        return all(name not in attributes for attributes, name in self.missing)


class Kept:
    """An evaluation: the variables that went in, what was read, the value, and what else came of it."""

    __slots__ = ("bound", "reads", "steps", "value", "variables")

    def __init__(
        self, variables: list[Value | None], reads: Reads, value: Value, bound: list[tuple[str, Value]], steps: int
    ) -> None:
        self.variables = variables
        self.reads = reads
        self.value = value
        self.bound = bound  #: variables that it leaves with another value, such as narrowed ones
        self.steps = steps


def names_to_compare(expression: ast.expr) -> tuple[str, ...] | None:
    """The variables that an expression may read; None where it is not worth keeping, or not only its value counts."""
    names: dict[str, None] = {}
    found: list[ast.AST] = [expression]
    for node in found:
        kind = node.__class__
        if kind is ast.Name:
            names[node.id] = None  # type: ignore[attr-defined]
        elif kind in _NOT_KEPT:
            return None
        else:
            found += children(node)
    return tuple(names) if len(found) > SMALL or any(node.__class__ is ast.Call for node in found) else None
