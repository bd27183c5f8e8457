"""Statements: assignments, branches, loops and definitions, followed in the order of the source.

Both branches of an `if` are followed and what differs afterwards becomes a `phi`; a loop's body is followed once, with
`loop` nodes for what it changes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from strop.source.adopt.architecture import Node, definitions_of
from strop.source.adopt.build import Closure, Many, Self, Value, text_of
from strop.source.adopt.calls import CallExtraction
from strop.source.adopt.expressions import OPERATORS, said
from strop.source.adopt.names import Library
from strop.source.project.declarations import walk

_TALK = ("logger", "logging", "warnings", "print", "log")  #: whose calls compute nothing
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class StatementExtraction(CallExtraction):
    """What statements leave in variables and in `self`."""

    constructing: bool  #: whether this is a constructor, whose attributes are the class's
    _ended = False  #: both branches of the last `if` left

    def block(self, body: list[ast.stmt]) -> bool:
        """Follow statements; whether the end is reached."""
        for statement in body:
            self.frame.statement = statement
            handler = _STATEMENTS.get(statement.__class__)
            if handler is not None:
                handler(self, statement)
            if isinstance(statement, _ENDS) or (isinstance(statement, (ast.If, ast.With)) and self._ended):
                self._ended = False
                return False
        return True

    def _assign(self, statement: ast.Assign) -> None:
        value = self.evaluate(statement.value)
        for target in statement.targets:
            self.assign(target, value)

    def _annotated(self, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self.assign(statement.target, self.evaluate(statement.value))

    def _augmented(self, statement: ast.AugAssign) -> None:
        target = statement.target
        left, right = self.evaluate(target), self.evaluate(statement.value)
        kind = OPERATORS[statement.op.__class__]
        if isinstance(left, Many):
            items = right.items if isinstance(right, Many) else [right]
            self.assign(target, Many([*left.items, *items], left.kind, open=left.open))
            return
        pair = [self.node(left, target), self.node(right, statement.value)]
        self.assign(target, self.operation(kind, pair, None, statement))

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.frame.env[target.id] = value
            self._record(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value)
        elif isinstance(target, ast.Attribute):
            self._assign_attribute(target, value)
        elif isinstance(target, ast.Subscript):
            self._assign_item(target, value)

    def _record(self, name: str, value: Value) -> None:
        if not self.frame.chain and isinstance(value, Node) and self.frame.parent is None:
            self.graph.bindings.setdefault(name, []).append((len(self.graph.nodes), value))

    def _unpack(self, target: ast.Tuple | ast.List, value: Value) -> None:
        count = len(target.elts)
        starred = next((i for i, one in enumerate(target.elts) if isinstance(one, ast.Starred)), None)
        if isinstance(value, Many) and not value.open and starred is None and len(value.items) == count:
            values = list(value.items)
        elif isinstance(value, Many):
            values = [self.element(value, target) for _ in range(count)]
        else:
            node = self.node(value, self.frame.statement)
            values = [self._piece(node, i, starred, target) for i in range(count)]
        for one, part in zip(target.elts, values):
            self.assign(one, part)

    def _piece(self, node: Node, index: int, starred: int | None, target: ast.expr) -> Value:
        if starred is not None and index == starred:
            return Many([self.element(node, target)], "list", open=True)
        if starred is not None and index > starred:
            index -= len(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else 0
        at = node.expression or target
        if node.kind == "phi" and all(
            one.kind in ("call", "module", "chunk", "split", "unbind") for one in node.inputs
        ):
            return self.merged(node.text, [self.item(one, index, at) for one in node.inputs], at)
        if node.is_scalar:
            return self.symbol(f"{text_of(node)}[{index}]", at)
        return self.item(node, index, at)

    def _assign_attribute(self, target: ast.Attribute, value: Value) -> None:
        base = self.evaluate(target.value)
        if not isinstance(base, Self):
            return
        name = target.attr
        self.own[name] = value
        if isinstance(value, Node):
            if not self.constructing:
                self.graph.escapes.append((value, f"stored in self.{name}"))
            for definition in definitions_of(value):
                definition.path = definition.path or name
            if value.kind in ("layer", "parameter", "activation"):
                value.text = value.text if value.text.startswith("self.") else f"self.{name}"

    def _assign_item(self, target: ast.Subscript, value: Value) -> None:
        base = self.evaluate(target.value)
        node = self.node(value, target)
        if isinstance(base, Many):
            key = target.slice.value if isinstance(target.slice, ast.Constant) else None
            held = len(base.items)
            base.put(value)
            if base.kind == "dict" and len(base.items) > held:
                base.keys.append(key)
            base.open = True
        elif isinstance(base, Node) and isinstance(target.value, ast.Name):
            if not isinstance(target.slice, ast.Slice):
                self.evaluate(target.slice)
            self.assign(target.value, self.make("setitem", [base, node], at=target))
        else:
            self.graph.escapes.append((node, "stored in an element"))
            if isinstance(base, Node):
                self.make("setitem", [base, node], at=target)

    def _expression(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant) and _first_word(statement.value) not in _TALK:
            self.evaluate(statement.value)

    def _return(self, statement: ast.Return) -> None:
        value: Value = self.const(None, statement) if statement.value is None else self.evaluate(statement.value)
        self.frame.returned.append((value, statement))

    # -- branches --------------------------------------------------------------------------------------------------

    def _if(self, statement: ast.If) -> None:
        test = self.evaluate(statement.test)
        if isinstance(test, Node) and test.kind == "const":
            body = statement.body if test.value else statement.orelse
            self._ended = not self.block(body) if body else False
            return
        outcomes = self._branches([statement.body, statement.orelse])
        self._join(said(statement.test), outcomes, statement)
        self._ended = not any(reached for reached, _, _ in outcomes)

    def _branches(self, bodies: list[list[ast.stmt]]) -> list[tuple[bool, dict[str, Value], dict[str, Value]]]:
        """Follow each body from the same start; whether its end is reached, and the variables there."""
        frame = self.frame
        start, own = dict(frame.env), dict(self.own)
        outcomes = []
        frame.branches += 1
        for body in bodies:
            reached = self.block(body)
            self._ended = False
            outcomes.append((reached, frame.env, dict(self.own)))
            for name, value in frame.env.items():
                if name in start and start[name] is not value:
                    self._record(name, start[name])
            frame.env = dict(start)
            self._restore(own)
        frame.branches -= 1
        return outcomes

    def _restore(self, own: dict[str, Value]) -> None:
        self.own.clear()
        self.own.update(own)

    def _join(
        self, test: str, outcomes: list[tuple[bool, dict[str, Value], dict[str, Value]]], statement: ast.stmt
    ) -> None:
        ends = [(env, own) for reached, env, own in outcomes if reached]
        if not ends:
            return
        self.frame.statement = statement
        before = self.frame.env
        self.frame.env = self._joined(test, [env for env, _ in ends], statement, before)
        self._restore(self._joined(test, [own for _, own in ends], statement, None))

    def _joined(
        self, test: str, envs: list[dict[str, Value]], statement: ast.stmt, before: dict[str, Value] | None
    ) -> dict[str, Value]:
        if len(envs) == 1:
            for name, value in envs[0].items():
                if before is not None and before.get(name) is not value:
                    self._record(name, value)
            return envs[0]
        result: dict[str, Value] = {}
        for name in dict.fromkeys(name for env in envs for name in env):
            values = [env[name] for env in envs if name in env]
            if all(value is values[0] for value in values):
                result[name] = values[0]
            else:
                result[name] = self.merged(test, values, statement)
            if before is not None and before.get(name) is not result[name]:
                self._record(name, result[name])
        return result

    def _for(self, statement: ast.For | ast.AsyncFor) -> None:
        iterable = self.listed(self.evaluate(statement.iter), statement.iter)
        self._loop(statement, lambda: self.assign(statement.target, self.element(iterable, statement.iter)))

    def _while(self, statement: ast.While) -> None:
        self._loop(statement, lambda: self.evaluate(statement.test))

    def _loop(self, statement: ast.For | ast.AsyncFor | ast.While, begin: Callable[[], object]) -> None:
        frame = self.frame
        carried: dict[str, Node] = {}
        for name in _assigned(statement.body):
            before = frame.env.get(name)
            if isinstance(before, Node) and before.kind != "const":
                carried[name] = self.make("loop", [before], at=statement, text=name)
                frame.env[name] = carried[name]
                self._record(name, carried[name])
        start = dict(frame.env)
        frame.branches += 1
        begin()
        self.block(statement.body)
        self._ended = False
        frame.branches -= 1
        for name, node in carried.items():
            after = frame.env.get(name)
            if isinstance(after, Node) and after is not node:
                node.inputs.append(after)
                after.users.append(node)
        frame.statement = statement
        for name, value in start.items():
            if name in frame.env and frame.env[name] is not value and name not in carried:
                frame.env[name] = self.merged("loop", [value, frame.env[name]], statement)
                self._record(name, frame.env[name])
        self.block(statement.orelse)

    def _with(self, statement: ast.With | ast.AsyncWith) -> None:
        for item in statement.items:
            value = self.evaluate(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value)
        self._ended = not self.block(statement.body)

    def _try(self, statement: ast.Try) -> None:
        outcomes = self._branches([statement.body + statement.orelse, *[h.body for h in statement.handlers]])
        self._join("try", outcomes, statement)
        self.block(statement.finalbody)

    def _match(self, statement: ast.Match) -> None:
        self.evaluate(statement.subject)
        outcomes = self._branches([[], *[case.body for case in statement.cases]])
        self._join("match", outcomes, statement)

    def _function(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        code = self.frame.code.module.codes.get(statement)
        if code is not None:
            self.frame.env[statement.name] = Closure(code, self.frame)

    def _import(self, statement: ast.Import | ast.ImportFrom) -> None:
        for alias in statement.names:
            name = alias.asname or alias.name.partition(".")[0]
            if isinstance(statement, ast.ImportFrom) and not statement.level:
                self.frame.env[name] = Library(f"{statement.module}.{alias.name}")
            elif isinstance(statement, ast.Import):
                self.frame.env[name] = Library(alias.name if alias.asname else name)


def _first_word(expression: ast.expr) -> str:
    while isinstance(expression, (ast.Call, ast.Attribute)):
        expression = expression.func if isinstance(expression, ast.Call) else expression.value
    return expression.id if isinstance(expression, ast.Name) else ""


def _assigned(body: list[ast.stmt]) -> list[str]:
    """The variables that statements assign, in order."""
    stored = (node for node in walk(body) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return list(dict.fromkeys(node.id for node in stored))


_STATEMENTS: dict[type[ast.AST], Callable[[StatementExtraction, Any], None]] = {
    ast.Assign: StatementExtraction._assign,
    ast.AnnAssign: StatementExtraction._annotated,
    ast.AugAssign: StatementExtraction._augmented,
    ast.Expr: StatementExtraction._expression,
    ast.Return: StatementExtraction._return,
    ast.If: StatementExtraction._if,
    ast.For: StatementExtraction._for,
    ast.AsyncFor: StatementExtraction._for,
    ast.While: StatementExtraction._while,
    ast.With: StatementExtraction._with,
    ast.AsyncWith: StatementExtraction._with,
    ast.Try: StatementExtraction._try,
    ast.Match: StatementExtraction._match,
    ast.FunctionDef: StatementExtraction._function,
    ast.AsyncFunctionDef: StatementExtraction._function,
    ast.Import: StatementExtraction._import,
    ast.ImportFrom: StatementExtraction._import,
}
