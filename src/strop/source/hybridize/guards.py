"""Under which conditions a place of a function is reached: `if`, `except`, `and` and their like around it.

A condition of which the interpreter knows the value decides: what stands in a branch that is never taken is not there.
What is left depends on Python values, and a verdict that rests on it names the condition as an assumption.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from strop.source.facts import Place
from strop.source.interpret.events import Branch, Call
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Const, Unknown, Value, const
from strop.source.project.declarations import Code, walk

#: `sometimes`: in some round of a loop, or at some call; both branches are taken then. `often`: as a rule
Truth = Literal["always", "never", "sometimes", "often", "maybe"]
_OPPOSITE: dict[Truth, Truth] = {
    "always": "never",
    "never": "always",
    "sometimes": "sometimes",
    "often": "maybe",
    "maybe": "maybe",
}
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_COMPILING = "torch.compiler.is_compiling"
Span = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Guard:
    """A part of a function that runs only if a condition holds."""

    span: Span
    test: ast.expr | None  #: None: an exception handler
    truth: Truth
    holds: bool = True  #: it is the part that runs where the test holds

    def text(self) -> str:
        if self.test is None:
            return "an exception is caught"
        test = self.test
        if not self.holds:
            negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
            test = test.operand if negated else ast.UnaryOp(ast.Not(), test)  # type: ignore[attr-defined]
        text = ast.unparse(test)
        return text if len(text) < 60 else text[:57] + "…"


class Guards:
    """The guards of one function, found in one walk."""

    def __init__(self, program: Program, code: Code) -> None:
        self.code = code
        self._changed = set(_state(code))  #: what depends on it happens at some call
        self._values: dict[tuple[int, int, int, int], Value] = {}
        if any(
            isinstance(node, (ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.While, ast.comprehension, ast.Match))
            for node in code.walk()
        ):
            asked: dict[tuple[int, int, int, int], Value] = {}
            for event in program.events(code.id):
                p = event.place
                if isinstance(event, Branch):
                    self._values[p.line, p.column, p.end_line, p.end_column] = event.condition
                elif isinstance(event, Call) and event.functions and _asks_for_compiling(program, event):
                    asked[p.line, p.column, p.end_line, p.end_column] = const(True)
            self._values |= asked
            self._guards = [*self._block(code.body, ())]
        else:
            self._guards = []
        self._ignored = [_span(node) for node in code.walk() if isinstance(node, ast.Raise)]

    def around(self, place: Place) -> list[Guard]:
        at = (place.line, place.column)
        return [guard for guard in self._guards if guard.span[0] <= at < guard.span[1]]

    def is_raising(self, place: Place) -> bool:
        """Whether the place only serves to raise an exception."""
        at = (place.line, place.column)
        return any(start <= at < end for start, end in self._ignored)

    def reached(self, place: Place) -> tuple[Truth, Guard | None]:
        """Whether a place is reached, and the innermost condition that decides."""
        found = self.around(place)
        if any(guard.truth == "never" for guard in found):
            return "never", None
        open_ended = [guard for guard in found if guard.truth == "maybe"]
        return ("maybe", open_ended[-1]) if open_ended else ("always", None)

    # -- the walk --------------------------------------------------------------------------------------------------

    def _block(self, body: list[ast.stmt], loops: tuple[str, ...]) -> Iterator[Guard]:
        for index, statement in enumerate(body):
            yield from self._statement(statement, loops)
            rest = body[index + 1 :]
            if not isinstance(statement, ast.If) or not rest or statement.orelse:
                continue
            if isinstance(statement.body[-1], _LEAVING) and self.truth(statement.test, loops) == "always":
                yield Guard((_start(rest[0]), _end(rest[-1])), statement.test, "never", False)

    def _statement(self, node: ast.stmt, loops: tuple[str, ...]) -> Iterator[Guard]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        if isinstance(node, ast.If):
            yield from self._expression(node.test, loops)
            truth = self.truth(node.test, loops)
            if truth == "sometimes" and _is_done_once(self.code, node):
                truth = "maybe"
            yield Guard((_start(node.body[0]), _end(node.body[-1])), node.test, truth)
            if node.orelse:
                yield Guard((_start(node.orelse[0]), _end(node.orelse[-1])), node.test, _OPPOSITE[truth], False)
            yield from self._block(node.body, loops)
            yield from self._block(node.orelse, loops)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            yield from self._expression(node.iter, loops)
            targets = tuple(n.id for n in walk([node.target]) if isinstance(n, ast.Name))
            yield from self._block(node.body, (*loops, *targets))
            yield from self._block(node.orelse, loops)
        elif isinstance(node, ast.While):
            yield from self._expression(node.test, loops)
            changed = tuple(n.id for n in walk([node]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
            yield from self._block(node.body, (*loops, *changed))
        elif isinstance(node, ast.Try):
            for part in (node.body, node.orelse, node.finalbody):
                yield from self._block(part, loops)
            for handler in node.handlers:
                yield Guard(_span(handler), None, "maybe")
                yield from self._block(handler.body, loops)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            yield from self._block(node.body, loops)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                yield Guard((_start(case.body[0]), _end(case.body[-1])), node.subject, "maybe")
                yield from self._block(case.body, loops)
        else:
            yield from self._expression(node, loops)

    def _expression(self, node: ast.AST, loops: tuple[str, ...]) -> Iterator[Guard]:
        for inner in walk([node]):
            if isinstance(inner, ast.IfExp):
                truth = self.truth(inner.test, loops)
                yield Guard(_span(inner.body), inner.test, truth)
                yield Guard(_span(inner.orelse), inner.test, _OPPOSITE[truth], False)
            elif isinstance(inner, ast.BoolOp):
                for before, part in zip(inner.values, inner.values[1:]):
                    truth, both = self.truth(before, loops), isinstance(inner.op, ast.And)
                    yield Guard(_span(part), before, truth if both else _OPPOSITE[truth], both)

    def truth(self, test: ast.expr, loops: tuple[str, ...] = ()) -> Truth:
        """What is known of a condition. One that a loop's own variable decides holds in some round."""
        if isinstance(test, ast.BoolOp):
            parts = [self.truth(part, loops) for part in test.values]
            deciding: Truth = "never" if isinstance(test.op, ast.And) else "always"
            if deciding in parts:
                return deciding
            if all(part == _OPPOSITE[deciding] for part in parts):
                return _OPPOSITE[deciding]
            return "maybe" if "maybe" in parts else "sometimes"
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return _OPPOSITE[self.truth(test.operand, loops)]
        if isinstance(test, ast.Constant):
            return "always" if test.value else "never"
        if _mentions(test, loops, self._changed):
            return "sometimes"
        if isinstance(test, ast.Attribute) and test.attr == "training":
            return "often"  # a module is made for training; only `eval()` changes that
        place = self.code.place(test)
        value = self._values.get((place.line, place.column, place.end_line, place.end_column))
        return "maybe" if value is None else _truth(value)


def _asks_for_compiling(program: Program, event: Call) -> bool:
    """A function that passes on the answer of `torch.compiler.is_compiling()`: in a graph, it is True."""
    return all(_answers(program, program.code(id)) for id in event.functions)


def _answers(program: Program, code: Code) -> bool:
    """It does nothing but return, and asks that question on the way."""
    if not code.calls or not all(isinstance(node, (ast.Expr, ast.Return, ast.If)) for node in code.body):
        return False
    if any(isinstance(event, Call) and _COMPILING in event.targets for event in program.events(code.id)):
        return True
    return code.short == "is_compiling" and any(name.endswith("is_compiling") for name in code.calls)


def _truth(value: Value) -> Truth:
    constants = {bool(atom.constant) for atom in value.atoms if isinstance(atom, Const)}
    others = [atom for atom in value.atoms if not isinstance(atom, Const)]
    if len(constants) != 1:
        return "maybe"
    if not others:
        return "always" if constants.pop() else "never"
    # an argument that nobody passes has its default, if that is what leads there
    return (
        "often"
        if constants == {True} and all(isinstance(atom, Unknown) and atom.before for atom in others)
        else "maybe"
    )


def _mentions(test: ast.expr, names: tuple[str, ...], attributes: set[str]) -> bool:
    for node in walk([test]):
        if isinstance(node, ast.Name) and node.id in names:
            return True
        if isinstance(node, (ast.Attribute, ast.Name)) and attributes and ast.unparse(node) in attributes:
            return True
    return False


def _is_done_once(code: Code, branch: ast.If) -> bool:
    """`if not self.ready: …; self.ready = True`: what the condition asks for is set there, and nowhere else."""
    parts = branch.test.values if isinstance(branch.test, ast.BoolOp) else [branch.test]
    if isinstance(branch.test, ast.BoolOp) and isinstance(branch.test.op, ast.Or):
        return False
    asked = {text for part in parts if (text := _flag(code, part))}
    inside = {id(node) for statement in branch.body for node in walk([statement])}
    changes = [
        (ast.unparse(target), node)
        for node in code.own()
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    own = [node for text, node in changes if text in asked]
    return bool(own) and all(isinstance(node, ast.Assign) and id(node) in inside for node in own)


def _flag(code: Code, test: ast.expr) -> str:
    """The attribute, or variable of a function around, of which a condition asks whether it is there or a constant."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.Compare) and all(isinstance(part, ast.Constant) for part in test.comparators):
        test = test.left
    kept = isinstance(test, ast.Attribute) or (isinstance(test, ast.Name) and test.id in code.nonlocals)
    return ast.unparse(test) if kept else ""


def _state(code: Code) -> Iterator[str]:
    """Attributes and globals that the function itself sets."""
    for node in code.walk():
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Attribute) or _is_global(code, target):
                yield ast.unparse(target)


def _is_global(code: Code, target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id in code.globals | code.nonlocals


def _start(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def _span(node: ast.AST) -> Span:
    return _start(node), _end(node)
