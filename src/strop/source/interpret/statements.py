"""Statements: assignments, branches, loops and what they leave, in the order in which they run."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from operator import is_
from typing import Any

from strop.source.interpret.activation import CallArguments, Env
from strop.source.interpret.definitions import Definitions
from strop.source.interpret.heap import Object
from strop.source.interpret.joins import join, join_all
from strop.source.interpret.memory import Memory, fresh, gathered, mentioned, repeat
from strop.source.interpret.values import NONE, NOTHING, UNKNOWN, Tensor, Value
from strop.source.project.declarations import Class

MAX_ROUNDS = 6


class Body(Definitions):
    """Runs the body of a function, a module or a class."""

    def run(self) -> Value:
        """The joined result; a generator gives an iterator."""
        env: Env = {}
        for name, value in self.node.parameters.items():
            env[name] = value
        self.env = env
        for name, value in env.items():
            if name in self.captured:
                self.write(self._cell(self.frame, name), value)
        self.block(self.code.body)
        if self.env is not None and not self.is_module:
            self.result = join(self.result, NONE)
        if self.code.is_generator:
            return self.container(self.code.node, "generator", self.yields)
        return self.result

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.env is None:
                return
            self.tick()
            handler = _STATEMENTS.get(statement.__class__)
            if handler is None:
                continue
            if statement.__class__ in _SIMPLE:
                self._remembered(statement, handler)
            else:
                handler(self, statement)

    def _remembered(self, statement: ast.AST, handler: Callable[[Any, Any], Value | None]) -> Value | None:
        """Run a statement or the head of one, unless it would do what it did the last time."""
        program, env = self.program, self.env
        if self.is_module or self.namespace is not None:
            return handler(self, statement)
        assert env is not None
        names = program.mentioned.get(statement)
        if names is None:
            names = program.mentioned[statement] = mentioned(statement, self.code.receiver())
        get = env.get
        before = [get(name) for name in names]
        known = self.node.memory.get(statement)
        still = known is not None and known.definitions == program.definitions
        if known is not None and still and all(map(is_, known.before, before)) and known.reads.hold():
            repeat(self, known)
            return known.value
        held, steps, definitions = fresh(self), self.steps, program.definitions
        try:
            value = handler(self, statement)
        finally:
            events, result, yields = gathered(self, held)
        get = env.get
        after = [(name, now) for name, old in zip(names, before) if (now := get(name)) is not old]
        ends, taken = self.env is None, self.steps - steps
        self.node.memory[statement] = Memory(
            value, before, self.reads, definitions, after, ends, result, yields, events, taken
        )
        return value

    # -- assignments -----------------------------------------------------------------------------------------------

    def _assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.store(target.id, value, target)
        elif isinstance(target, ast.Attribute):
            self.store_attribute(target, self.evaluate(target.value), value, target)
        elif isinstance(target, ast.Subscript):
            index = UNKNOWN if isinstance(target.slice, ast.Slice) else self.evaluate(target.slice)
            self.store_item(target, self.evaluate(target.value), index, value, target)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if any(isinstance(atom, Tensor) for atom in value.atoms):
                self.note(target, "iteration", "unpack", value)
            star = next((i for i, part in enumerate(target.elts) if isinstance(part, ast.Starred)), None)
            for part, item in zip(target.elts, self.unpack(value, len(target.elts), star, target)):
                self.assign(part, item)

    def _augmented(self, node: ast.AugAssign) -> None:
        target = node.target
        right = self.evaluate(node.value)
        if isinstance(target, ast.Name):
            left = self.load(target.id, target)
        elif isinstance(target, ast.Attribute):
            left = self.attribute(self.evaluate(target.value), target.attr, node)
        else:
            index = UNKNOWN if isinstance(target.slice, ast.Slice) else self.evaluate(target.slice)
            left = self.item(self.evaluate(target.value), index, target, target.slice)
        value = self._in_place(node, left, right)
        self.assign(target, value)

    def _in_place(self, node: ast.AugAssign, left: Value, right: Value) -> Value:
        """`x += y` changes lists, sets and dicts, and makes a new object of anything else."""
        mutable = [o for o in left.objects() if o.kind in ("list", "set", "dict")]
        if not mutable:
            name = {ast.Add: "iadd", ast.Sub: "isub", ast.Mult: "imul"}.get(node.op.__class__, "")
            for obj in left.objects():
                if name and isinstance(obj.cls, Class) and self.find_member(self.order(obj.cls), f"__{name}__"):
                    return self.call(self.attribute(obj.value, f"__{name}__", node), CallArguments([right]), node)
            if left.is_unknown() and not right.is_tensor() and isinstance(node.target, ast.Name):
                return self.operate(node.op, left, right, node)
            return self.operate(node.op, left, right, node, in_place=True)
        for obj in mutable:
            self.program.put_wild(obj, self.iterate(right, node), shuffle=False)
        self.note_write(node, "method", node.target, join_all([o.value for o in mutable]), right)
        others = join_all([a.value for a in left.atoms if a not in mutable])
        grown = join_all([o.value for o in mutable])
        return join(grown, self.operate(node.op, others, right, node)) if others.atoms else grown

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                if target.id in self.code.globals:
                    self.note_write(target, "global", target.id, "global", NOTHING)
                if self.env is not None:
                    self.env.pop(target.id, None)
            elif isinstance(target, (ast.Attribute, ast.Subscript)):
                owner = self.evaluate(target.value)
                self.note_write(target, "delete", target, owner, NOTHING)
                for obj in owner.objects():
                    if isinstance(target, ast.Subscript):
                        self.program.put_wild(obj, NOTHING, shuffle=True)
                    if isinstance(obj.cls, Class) and self.find_member(self.order(obj.cls), "__delitem__"):
                        self.call(self.attribute(obj.value, "__delitem__", target), CallArguments([UNKNOWN]), target)
        self.note(node, "other", "del", None)

    # -- flow ------------------------------------------------------------------------------------------------------

    def _expression(self, node: ast.Expr) -> None:
        self.evaluate(node.value)

    def _if(self, node: ast.If) -> None:
        self._remembered(node.test, _IF)
        before = self.env
        assert before is not None
        self.env = dict(before)
        self.narrow(node.test, True)
        self.block(node.body)
        then, self.env = self.env, before
        self.narrow(node.test, False)
        self.block(node.orelse)
        self.env = self.merge(self.env, then)

    def narrow(self, test: ast.expr, truth: bool) -> None:
        """`x is None` says what a variable cannot be in a branch."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.narrow(test.operand, not truth)
            return
        if isinstance(test, ast.BoolOp):
            if isinstance(test.op, ast.And) == truth:
                for part in test.values:
                    self.narrow(part, truth)
            return
        if self.env is None or not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return
        left, op, right = test.left, test.ops[0], test.comparators[0]
        if not isinstance(left, ast.Name) or not isinstance(right, ast.Constant) or right.value is not None:
            return
        if not isinstance(op, (ast.Is, ast.IsNot)) or left.id not in self.env:
            return
        value = self.env[left.id]
        if isinstance(op, ast.IsNot) == truth:
            narrowed = value.without_none()
        else:
            narrowed = NONE if NONE.atoms[0] in value.atoms else NOTHING
        if narrowed.atoms:
            self.env[left.id] = narrowed

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, enter: Callable[[], bool]) -> None:
        """Rounds until the variables at the head stay as they are; `enter` says whether the loop can end by itself."""
        self.breaks.append([])
        self.continues.append([])
        assert self.env is not None
        head: Env = self.env
        known = self.node.heads.get(node)
        if known is not None:  # values only grow: what the loop came to before is what it begins with now
            head = self.widen(head, known) or head
        ends = True
        for _ in range(MAX_ROUNDS):
            self.env = dict(head)
            ends = enter()
            self.continues[-1].clear()
            self.breaks[-1].clear()
            self.block(node.body)
            end: Env | None = self.env
            for other in self.continues[-1]:
                end = self.merge(end, other)
            grown = self.widen(head, end)
            if grown is None:
                break
            head = grown
        self.continues.pop()
        self.node.heads[node] = head
        self.env = dict(head) if ends else None
        if self.env is not None:
            self.block(node.orelse)
        for other in self.breaks.pop():
            self.env = self.merge(self.env, other)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        over = self._remembered(node.iter, Body._iterable)
        assert over is not None

        def enter() -> bool:
            self.assign(node.target, self.iterate(over, node.iter))
            return True

        self._loop(node, enter)

    def _iterable(self, node: ast.expr) -> Value:
        over = self.evaluate(node)
        self.note(node, "iteration", "for", over)
        return over

    def _test(self, node: ast.expr, kind: str) -> None:
        self.note(node, "branch", kind, self.evaluate(node))

    def _while(self, node: ast.While) -> None:
        def enter() -> bool:
            self._remembered(node.test, _WHILE)
            self.narrow(node.test, True)
            return not (isinstance(node.test, ast.Constant) and bool(node.test.value))

        self._loop(node, enter)

    def _break(self, node: ast.Break) -> None:
        if self.breaks and self.env is not None:
            self.breaks[-1].append(self.env)
        self.env = None

    def _continue(self, node: ast.Continue) -> None:
        if self.continues and self.env is not None:
            self.continues[-1].append(self.env)
        self.env = None

    def _return(self, node: ast.Return) -> None:
        value = self.evaluate(node.value) if node.value is not None else NONE
        self.result = join(self.result, value)
        self.env = None

    def _raise(self, node: ast.Raise) -> None:
        value = self.evaluate(node.exc) if node.exc is not None else None
        self.note(node, "other", "raise", value)
        self.env = None

    def _try(self, node: ast.Try) -> None:
        self.note(node, "other", "try", None)
        assert self.env is not None
        before = dict(self.env)
        self.block(node.body)
        after = self.env
        start = self.merge(dict(before), after)
        if after is not None:
            self.block(node.orelse)
        ends = [self.env]
        for handler in node.handlers:
            assert start is not None
            self.env = dict(start)
            if handler.type is not None:
                kind = self.evaluate(handler.type)
                if handler.name:
                    self.store(handler.name, self._caught(kind, handler), handler)
            self.block(handler.body)
            ends.append(self.env)
        self.env = None
        for end in ends:
            self.env = self.merge(self.env, end)
        if node.finalbody:
            alive = self.env is not None
            if not alive:
                self.env = start
            self.block(node.finalbody)
            if not alive:
                self.env = None

    def _caught(self, kind: Value, at: ast.AST) -> Value:
        found = [
            self.new(at, "instance", atom.cls).value
            for atom in kind.atoms
            if hasattr(atom, "cls") and not isinstance(atom, Object)
        ]
        return join_all(found) if found else self.new(at, "instance", "builtins.Exception").value

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        entered = []
        for item in node.items:
            manager = self._remembered(item.context_expr, Body.evaluate)
            assert manager is not None
            self.note(item.context_expr, "other", "with", manager)
            value = join_all([self._enter(atom.value, item.context_expr) for atom in manager.atoms])
            entered.append((manager, item.context_expr))
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value)
        self.block(node.body)
        for manager, at in entered:
            for obj in manager.objects():
                if isinstance(obj.cls, Class) and self.find_member(self.order(obj.cls), "__exit__") is not None:
                    self.call(self.attribute(obj.value, "__exit__", at), CallArguments([NONE, NONE, NONE]), at)

    def _enter(self, manager: Value, at: ast.AST) -> Value:
        found = []
        for atom in manager.atoms:
            if isinstance(atom, Object) and atom.kind in ("generator", "iterator"):
                found.append(self.read_contents(atom))
            elif isinstance(atom, Object) and isinstance(atom.cls, Class):
                if self.find_member(self.order(atom.cls), "__enter__") is not None:
                    found.append(self.call(self.attribute(atom.value, "__enter__", at), CallArguments(), at))
                else:
                    found.append(atom.value)
            elif isinstance(atom, Object) and isinstance(atom.cls, str) and self.apis.method(atom.cls, "__enter__"):
                found.append(self.call(self.library_attribute(atom.cls, atom, "__enter__", at), CallArguments(), at))
            else:
                found.append(atom.value)
        return join_all(found)

    def _assert(self, node: ast.Assert) -> None:
        self.note(node.test, "branch", "assert", self.evaluate(node.test))
        self.narrow(node.test, True)

    def _match(self, node: ast.Match) -> None:
        subject = self.evaluate(node.subject)
        self.note(node.subject, "branch", "match", subject)
        before = self.env
        assert before is not None
        ends: list[Env | None] = [dict(before)]
        for case in node.cases:
            self.env = dict(before)
            self._pattern(case.pattern, subject)
            if case.guard is not None:
                self.note(case.guard, "branch", "if", self.evaluate(case.guard))
            self.block(case.body)
            ends.append(self.env)
        self.env = None
        for end in ends:
            self.env = self.merge(self.env, end)

    def _pattern(self, pattern: ast.pattern, subject: Value) -> None:
        if isinstance(pattern, ast.MatchAs):
            if pattern.pattern is not None:
                self._pattern(pattern.pattern, subject)
            if pattern.name is not None:
                self.store(pattern.name, subject, pattern)
        elif isinstance(pattern, ast.MatchSequence):
            stars = [i for i, p in enumerate(pattern.patterns) if isinstance(p, ast.MatchStar)]
            star = stars[0] if stars else None
            for part, value in zip(pattern.patterns, self.unpack(subject, len(pattern.patterns), star, pattern)):
                self._pattern(part, value)
        elif isinstance(pattern, ast.MatchStar):
            if pattern.name is not None:
                self.store(pattern.name, subject, pattern)
        elif isinstance(pattern, ast.MatchOr):
            for part in pattern.patterns:
                self._pattern(part, subject)
        elif isinstance(pattern, ast.MatchMapping):
            for key, part in zip(pattern.keys, pattern.patterns):
                self._pattern(part, self.item(subject, self.evaluate(key), pattern))
            if pattern.rest is not None:
                self.store(pattern.rest, subject, pattern)
        elif isinstance(pattern, ast.MatchClass):
            for name, part in zip(pattern.kwd_attrs, pattern.kwd_patterns):
                self._pattern(part, self.attribute(subject, name, pattern))
            for part in pattern.patterns:
                self._pattern(part, subject)

    def _global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.note(node, "other", "global", None)


_IF = partial(Body._test, kind="if")
_WHILE = partial(Body._test, kind="while")
_STATEMENTS: dict[type[ast.AST], Callable[[Any, Any], None]] = {
    ast.Assign: Body._assign,
    ast.AnnAssign: Body._annotated,
    ast.AugAssign: Body._augmented,
    ast.Delete: Body._delete,
    ast.Expr: Body._expression,
    ast.If: Body._if,
    ast.For: Body._for,
    ast.AsyncFor: Body._for,
    ast.While: Body._while,
    ast.Break: Body._break,
    ast.Continue: Body._continue,
    ast.Return: Body._return,
    ast.Raise: Body._raise,
    ast.Try: Body._try,
    ast.With: Body._with,
    ast.AsyncWith: Body._with,
    ast.Assert: Body._assert,
    ast.Match: Body._match,
    ast.FunctionDef: Body._function,
    ast.AsyncFunctionDef: Body._function,
    ast.ClassDef: Body._class,
    ast.Import: Body.import_names,
    ast.ImportFrom: Body.import_names,
    ast.Global: Body._global,
    ast.Nonlocal: Body._global,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = Body._try
#: statements that hold no others; what a program remembers of its last run
_SIMPLE = frozenset((ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Assert))
