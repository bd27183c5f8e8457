"""Expressions on abstract values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from strop.source.interpret.activation import MAX_STEPS
from strop.source.interpret.joins import join, join_all
from strop.source.interpret.operators import Operators
from strop.source.interpret.values import NONE, NOTHING, UNKNOWN, Const, Value, const, function, primitive, tuple_of
from strop.source.project.declarations import Class


class Expressions(Operators):
    """Evaluates every kind of expression; `evaluate` is the way in."""

    def evaluate(self, node: ast.expr) -> Value:
        handler = _EXPRESSIONS.get(node.__class__)
        if handler is None:
            return UNKNOWN
        self.steps += 1  # as in `tick`: nothing is called as often as this
        if self.steps > MAX_STEPS:
            self.tick()
        return handler(self, node)

    def _constant(self, node: ast.Constant) -> Value:
        return const(node.value)

    def _name(self, node: ast.Name) -> Value:
        name = node.id
        if self.env is not None and name not in self.code.rebound:
            found = self.env.get(name)
            if found is not None:
                return found
        return self.load(name, node)

    def _attribute(self, node: ast.Attribute) -> Value:
        return self.attribute(self.evaluate(node.value), node.attr, node)

    def _named(self, node: ast.NamedExpr) -> Value:
        value = self.evaluate(node.value)
        self.assign(node.target, value)
        return value

    # -- displays and comprehensions -------------------------------------------------------------------------------

    def _tuple(self, node: ast.Tuple) -> Value:
        if any(isinstance(element, ast.Starred) for element in node.elts):
            items = self._spread(node.elts, node)
            return self.container(node, "tuple", join_all(items[1])) if items[0] is None else tuple_of(tuple(items[0]))
        return tuple_of(tuple(self.evaluate(element) for element in node.elts))

    def _list(self, node: ast.List) -> Value:
        known, elements = self._spread(node.elts, node)
        if known is None or len(known) > 40:
            return self.container(node, "list", join_all(elements))
        return self.sequence(node, "list", known)

    def _set(self, node: ast.Set) -> Value:
        return self.container(node, "set", join_all(self._spread(node.elts, node)[1]))

    def _spread(self, elements: list[ast.expr], at: ast.AST) -> tuple[list[Value] | None, list[Value]]:
        """Elements in order (None: their number is not known), and all of them in any order."""
        known: list[Value] | None = []
        every: list[Value] = []
        for element in elements:
            if not isinstance(element, ast.Starred):
                value = self.evaluate(element)
                every.append(value)
                if known is not None:
                    known.append(value)
                continue
            value = self.evaluate(element.value)
            inside = self.positions(value, at)
            every += [self.iterate(value, at)] if inside is None else inside
            known = None if inside is None or known is None else [*known, *inside]
        return known, every

    def _dict(self, node: ast.Dict) -> Value:
        obj = self.new(node, "dict", "builtins.dict")
        for key_node, value_node in zip(node.keys, node.values):
            value = self.evaluate(value_node)
            if key_node is None:
                for other in value.objects():
                    if other.kind == "dict":
                        self.look_into(other)
                        self.program.put_items(obj, dict(other.items))
                        self.program.put_wild(obj, other.wild, other.keys)
                if value.is_unknown():
                    self.program.put_wild(obj, UNKNOWN, UNKNOWN)
                continue
            key = self.evaluate(key_node)
            constant = key.atoms[0].constant if len(key.atoms) == 1 and isinstance(key.atoms[0], Const) else None
            if constant is not None:
                self.program.put_items(obj, {constant: value})
            else:
                self.program.put_wild(obj, value, key)
        return obj.value

    def _generators(self, generators: list[ast.comprehension]) -> dict[str, Value | None]:
        """Bind the targets of a comprehension; returns what the names meant outside."""
        outer: dict[str, Value | None] = {}
        for generator in generators:
            over = self.evaluate(generator.iter)
            self.note(generator.iter, "iteration", "comprehension", over)
            for name in _target_names(generator.target):
                outer.setdefault(name, self.env.get(name) if self.env is not None else None)
            self.assign(generator.target, self.iterate(over, generator.iter))
            for condition in generator.ifs:
                self.note(condition, "branch", "if", self.evaluate(condition))
        return outer

    def _restore(self, outer: dict[str, Value | None]) -> None:
        if self.env is None:
            return
        for name, value in outer.items():
            if value is None:
                self.env.pop(name, None)
            else:
                self.env[name] = value

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
        outer = self._generators(node.generators)
        element = self.evaluate(node.elt)
        self._restore(outer)
        kind = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "iterator"}[node.__class__]
        return self.container(node, kind, element)

    def _dict_comprehension(self, node: ast.DictComp) -> Value:
        outer = self._generators(node.generators)
        key, value = self.evaluate(node.key), self.evaluate(node.value)
        self._restore(outer)
        return self.container(node, "dict", value, key)

    def _lambda(self, node: ast.Lambda) -> Value:
        code = self.code.module.codes[node]
        self.define_defaults(code)
        atom = function(code, self.frame)
        self.program.atoms[code] = atom
        return atom.value

    def define_defaults(self, code: Any) -> None:
        """Defaults are evaluated where the function is defined."""
        known = self.program.defaults.setdefault(code, {})
        for parameter in code.parameters:
            if parameter.default is not None:
                old = known.get(parameter.name, NOTHING)
                new = known[parameter.name] = join(old, self.evaluate(parameter.default))
                self.program.definitions += bool(old.atoms) and new is not old

    def _if_expression(self, node: ast.IfExp) -> Value:
        test = self.evaluate(node.test)
        self.note(node.test, "branch", "ifexp", test)
        before = self.env
        if before is None or not isinstance(node.test, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
            return join(self.evaluate(node.body), self.evaluate(node.orelse))
        self.env = dict(before)
        self.narrow(node.test, True)
        then = self.evaluate(node.body)
        after, self.env = self.env, before
        self.narrow(node.test, False)
        otherwise = self.evaluate(node.orelse)
        self.env = self.merge(self.env, after)
        return join(then, otherwise)

    # -- the rest --------------------------------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> Value:
        value = self.evaluate(node.value)
        if isinstance(node.slice, ast.Slice):
            for part in (node.slice.lower, node.slice.upper, node.slice.step):
                if part is not None:
                    self.evaluate(part)
            return self.item(value, UNKNOWN, node, node.slice)
        return self.item(value, self.evaluate(node.slice), node, node.slice)

    def _slice(self, node: ast.Slice) -> Value:
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.evaluate(part)
        return UNKNOWN

    def _joined(self, node: ast.JoinedStr) -> Value:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.evaluate(part.value)
                self.note(part, "call", ["builtins.format"], [], None, [value], {}, primitive("str"), None)
                for obj in value.objects():
                    if isinstance(obj.cls, Class):
                        self.text_of(obj, part)
        return primitive("str")

    def _yield(self, node: ast.Yield) -> Value:
        value = self.evaluate(node.value) if node.value is not None else NONE
        self.yields = join(self.yields, value)
        self.note(node, "other", "yield", value)
        return UNKNOWN

    def _yield_from(self, node: ast.YieldFrom) -> Value:
        self.yields = join(self.yields, self.iterate(self.evaluate(node.value), node))
        self.note(node, "other", "yield", self.yields)
        return UNKNOWN

    def _await(self, node: ast.Await) -> Value:
        value = self.evaluate(node.value)
        self.note(node, "other", "await", value)
        return value

    def _starred(self, node: ast.Starred) -> Value:
        return self.evaluate(node.value)


def _target_names(target: ast.expr) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]


_EXPRESSIONS: dict[type[ast.AST], Callable[[Any, Any], Value]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Call: Expressions.call_expression,
    ast.NamedExpr: Expressions._named,
    ast.Tuple: Expressions._tuple,
    ast.List: Expressions._list,
    ast.Set: Expressions._set,
    ast.Dict: Expressions._dict,
    ast.ListComp: Expressions._comprehension,
    ast.SetComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension,
    ast.DictComp: Expressions._dict_comprehension,
    ast.Lambda: Expressions._lambda,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.BoolOp: Expressions._boolean,
    ast.Compare: Expressions._compare,
    ast.IfExp: Expressions._if_expression,
    ast.Subscript: Expressions._subscript,
    ast.Slice: Expressions._slice,
    ast.JoinedStr: Expressions._joined,
    ast.Yield: Expressions._yield,
    ast.YieldFrom: Expressions._yield_from,
    ast.Await: Expressions._await,
    ast.Starred: Expressions._starred,
}
