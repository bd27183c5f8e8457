"""Definitions: what `def` and `class` bind."""

from __future__ import annotations

import ast

from strop.source.interpret.activation import CallArguments
from strop.source.interpret.classes import is_accessor
from strop.source.interpret.imports import ImportStatements
from strop.source.interpret.values import (
    FunctionValue,
    Value,
    class_of,
    function,
)
from strop.source.project.declarations import Code, last_word

_SYNTACTIC = (
    "property",
    "staticmethod",
    "classmethod",
    "setter",
    "deleter",
    "getter",
    "cached_property",
    "abstractproperty",
)


class Definitions(ImportStatements):
    """What functions and classes bind to their names."""

    # -- definitions -----------------------------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        code = self.code.module.codes[node]
        self.define_defaults(code)
        frame = self.frame
        while isinstance(frame.code.node, ast.ClassDef) and frame.parent is not None:
            frame = frame.parent
        atom = function(code, frame)
        self.program.atoms[code] = atom
        value = self.decorated(code, atom, node)
        accessor = is_accessor(code)
        if accessor and self.namespace is not None:
            self.program.member(self.namespace, f"{node.name}.{accessor}", atom.value)
            return
        if node not in self.code.module.shadowed:
            self.store(node.name, value, node)

    def decorated(self, code: Code, atom: FunctionValue, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Value:
        """Apply decorators from the inside out; one that nobody knows is taken to keep the function."""
        value = atom.value
        for decorator in reversed(node.decorator_list):
            if last_word(decorator) in _SYNTACTIC:
                continue
            applied = self.noted_call(self.evaluate(decorator), CallArguments([value]), decorator, None)
            if applied.is_known():
                value = applied
        for made in value.atoms:
            if isinstance(made, FunctionValue) and made.code is not code:
                self.program.wrappers[code] = made.code
        return value

    def _class(self, node: ast.ClassDef) -> None:
        cls = self.code.module.classes[node]
        program = self.program
        bases = [self.evaluate(base) for base in node.bases if not isinstance(base, ast.Starred)]
        for keyword in node.keywords:
            self.evaluate(keyword.value)
        if program.bases.get(cls) != bases:
            program.definitions += cls in program.bases
            program.bases[cls] = bases
            program.orders.clear()
            program.ancestors.clear()
        decorators = [
            a.describe()
            for d in node.decorator_list
            for a in self.evaluate(d.func if isinstance(d, ast.Call) else d).atoms
        ]
        program.class_decorators[cls] = decorators
        program.members.setdefault(cls, {})
        outer, outer_env = self.namespace, self.env
        assert outer_env is not None
        self.namespace, self.env = cls, dict(outer_env)
        self.block(node.body)
        self.namespace, self.env = outer, outer_env
        value = class_of(cls).value
        for decorator in reversed(node.decorator_list):
            applied = self.noted_call(self.evaluate(decorator), CallArguments([value]), decorator, None)
            if applied.is_known():
                value = applied
        if node not in self.code.module.shadowed:
            self.store(node.name, value, node)
