"""Who calls a module of a file, and with what: whether an optional argument is ever given.

`BartAttention.forward(hidden_states, key_value_states=None)` is self attention where nobody gives `key_value_states`.
The callers of a method are the calls of attributes to which its class is assigned, also through a list of layers; what
they pass on of their own optional arguments is asked of their callers.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache

from strop.source.project.declarations import Class, Code, Module, walk

_MAX_DEPTH = 4  #: of callers that pass an argument on


class Callers:
    """The calls of a file's own modules."""

    def __init__(self, module: Module) -> None:
        self.classes = {cls.name: cls for cls in module.classes.values()}
        self._tables = {
            target.id: {n.id for n in walk([statement.value]) if isinstance(n, ast.Name)}
            for statement in module.tree.body
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }
        self._attributes: dict[str, set[str]] = defaultdict(set)  #: of a class, those that hold an instance
        self._calls: dict[str, list[tuple[ast.Call, Code]]] = defaultdict(list)  #: by attribute
        for code in module.functions:
            self._collect(code)

    def _collect(self, code: Code) -> None:
        held: dict[str, set[str]] = defaultdict(set)  #: classes in local variables
        elements: dict[str, set[str]] = defaultdict(set)  #: attributes whose value, or an element of it, they hold
        nodes = sorted(code.own(), key=lambda node: getattr(node, "lineno", 0))
        for node in nodes:
            for target, value in _bindings(node):
                if isinstance(target, ast.Attribute):
                    for name in self._mentioned(value, held):
                        self._attributes[name].add(target.attr)
                elif isinstance(target, ast.Name):
                    held[target.id] |= set(self._mentioned(value, held))
                    elements[target.id] |= {n.attr for n in walk([value]) if isinstance(n, ast.Attribute)}
        for node in nodes:
            if isinstance(node, ast.Call):
                for attribute in _called(node.func, elements):
                    self._calls[attribute].append((node, code))

    def _mentioned(self, expression: ast.expr, held: dict[str, set[str]]) -> Iterator[str]:
        """The classes that an expression names, also through a table of classes or a variable."""
        for node in walk([expression]):
            if isinstance(node, ast.Name):
                names = {node.id, *self._tables.get(node.id, ()), *held.get(node.id, ())}
                yield from names & self.classes.keys()

    def give(self, cls: Class, code: Code, name: str, depth: int = 0) -> bool:
        """Does somebody give this argument of a method of a class, other than as None?"""
        if depth > _MAX_DEPTH:
            return True
        holders = set().union(*[self._attributes.get(one, set()) for one in self._family(cls)])
        calls = [(call, caller) for attribute in sorted(holders) for call, caller in self._calls.get(attribute, ())]
        if depth and not calls:
            return True  # whoever uses the file
        return any(self._gives(call, caller, code, name, depth) for call, caller in calls if caller is not code)

    def _gives(self, call: ast.Call, caller: Code, code: Code, name: str, depth: int) -> bool:
        given = _argument(call, code, name)
        if given is None or (isinstance(given, ast.Constant) and given.value is None):
            return False
        if isinstance(given, ast.Name) and caller.cls is not None:
            own = next((p for p in caller.parameters if p.name == given.id), None)
            if own is not None and isinstance(own.default, ast.Constant) and own.default.value is None:
                return self.give(caller.cls, caller, own.name, depth + 1)
        return True

    def _family(self, cls: Class) -> set[str]:
        """A class and those of the file that inherit from it."""
        found = {cls.name}
        while True:
            more = {
                other.name
                for other in self.classes.values()
                if any(isinstance(base, ast.Name) and base.id in found for base in other.node.bases)
            }
            if more <= found:
                return found
            found |= more


@lru_cache(maxsize=4)
def callers(module: Module) -> Callers:
    return Callers(module)


def _bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a node leaves in a name or attribute: an assignment, a loop, `x.append(y)`."""
    if isinstance(node, ast.Assign):
        yield node.targets[0], node.value
    elif isinstance(node, (ast.For, ast.comprehension)):
        for target in walk([node.target]):
            if isinstance(target, ast.Name):
                yield target, node.iter
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
        for value in node.args:
            yield node.func.value, value


def _called(func: ast.expr, elements: dict[str, set[str]]) -> set[str]:
    """The attributes whose value (or an element of it) is called."""
    while isinstance(func, ast.Subscript):
        func = func.value
    if isinstance(func, ast.Attribute):
        return {func.attr}
    return elements.get(func.id, set()) if isinstance(func, ast.Name) else set()


def _argument(call: ast.Call, code: Code, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    names = [p.name for p in code.parameters if p.kind in ("positional", "normal")][1:]
    position = names.index(name) if name in names else len(call.args)
    if any(isinstance(one, ast.Starred) for one in call.args[: position + 1]):
        return None
    return call.args[position] if position < len(call.args) else None
