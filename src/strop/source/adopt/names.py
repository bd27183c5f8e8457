"""What a name means, from the syntax alone: a library's thing, a function, class, module or constant of the project.

The abstract interpreter answers this too, after it has run the whole program; here one file has to be understood in a
fraction of a second, so imports are followed only when something asks for what they bind, and large files outside the
scan are not followed at all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from strop.source.project.declarations import Class, Code, Module
from strop.source.project.modules import Project

MAX_BYTES = 32_000  #: of a file outside the scan; larger ones are frameworks, not helpers
_KNOWN = ("torch", "numpy", "math", "functools", "itertools", "typing", "collections", "einops", "os", "sys")


@dataclass(frozen=True)
class Library:
    """Something that is not of the project, by its dotted name."""

    dotted: str


@dataclass(frozen=True)
class Constant:
    """A module's variable that is assigned once."""

    expression: ast.expr
    module: Module


Meaning = Union[Library, Constant, Code, Class, Module]


class QuickProject(Project):
    """A project that follows small files only."""

    def _follow(self, candidate: str, installed: bool = False) -> Module | None:
        if candidate not in self.followed:
            try:
                large = Path(candidate).stat().st_size > MAX_BYTES
            except OSError:
                large = True
            if large:
                self.followed[candidate] = None
        return super()._follow(candidate, installed)


class Names:
    """The global names of all modules of a project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._tables: dict[Module, dict[str, Meaning | ast.stmt | None]] = {}
        self._orders: dict[Class, tuple[Class | str, ...]] = {}
        self._methods: dict[Class, dict[str, Code]] = {}
        self._subclasses: dict[str, list[Class]] | None = None

    def of(self, module: Module, name: str) -> Meaning | None:
        """What a global name of a module means; `None` for builtins and what is assigned more than once."""
        table = self._table(module)
        found = table.get(name)
        if isinstance(found, (ast.Import, ast.ImportFrom)):
            table[name] = None  # against circles
            found = self._imported(module, found, name)
            table[name] = found
        return None if isinstance(found, ast.stmt) else found

    def member(self, module: Module, name: str) -> Meaning | None:
        """`module.name`, also when `name` is a module inside a package."""
        found = self.of(module, name)
        if found is None and module.is_package and name not in self._table(module):
            return self.project.relative(module, 1, name)
        return found

    def _table(self, module: Module) -> dict[str, Meaning | ast.stmt | None]:
        table = self._tables.get(module)
        if table is None:
            table = self._tables[module] = {}
            for statement in _executed(module.tree.body):
                self._declare(module, table, statement)
        return table

    def _declare(self, module: Module, table: dict[str, Meaning | ast.stmt | None], statement: ast.stmt) -> None:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            table[statement.name] = module.codes.get(statement)
        elif isinstance(statement, ast.ClassDef):
            table[statement.name] = module.classes.get(statement)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            for alias in statement.names:
                table.setdefault(alias.asname or alias.name.partition(".")[0], statement)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    again = target.id in table and not isinstance(table[target.id], ast.stmt)
                    value = statement.value
                    table[target.id] = Constant(value, module) if value is not None and not again else None

    def _imported(self, module: Module, statement: ast.Import | ast.ImportFrom, name: str) -> Meaning | None:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.asname == name:
                    return self._module(module, alias.name)
                if not alias.asname and alias.name.partition(".")[0] == name:
                    return self._module(module, name)
            return None
        alias = next(a for a in statement.names if (a.asname or a.name) == name)
        dotted = statement.module or ""
        if statement.level:
            base = self.project.relative(module, statement.level, dotted)
            if base is None:
                return Library(f".{dotted}.{alias.name}")
            found = self.of(base, alias.name)
            inner = f"{dotted}.{alias.name}" if dotted else alias.name
            return found or self.project.relative(module, statement.level, inner)
        origin = self._module(module, dotted)
        if isinstance(origin, Module):
            return self.member(origin, alias.name) or Library(f"{dotted}.{alias.name}")
        return Library(f"{dotted}.{alias.name}")

    def _module(self, importer: Module, dotted: str) -> Meaning:
        known = dotted.partition(".")[0] in _KNOWN
        return self.project.find(importer, dotted, known_library=known) or Library(dotted)

    # -- classes ---------------------------------------------------------------------------------------------------

    def order(self, cls: Class) -> tuple[Class | str, ...]:
        """The method resolution order; classes of libraries by dotted name."""
        known = self._orders.get(cls)
        if known is not None:
            return known
        self._orders[cls] = (cls,)  # against circles
        found: list[Class | str] = [cls]
        for base in cls.node.bases:
            meaning = self.expression(cls.module, base)
            chain: tuple[Class | str, ...] = ()
            if isinstance(meaning, Class):
                chain = self.order(meaning)
            elif isinstance(meaning, Library):
                chain = (meaning.dotted,)
            found = [c for c in found if c not in chain] + list(chain)
        self._orders[cls] = tuple(found)
        return self._orders[cls]

    def expression(self, module: Module, expression: ast.expr) -> Meaning | None:
        """The meaning of a dotted name at module level."""
        if isinstance(expression, ast.Name):
            return self.of(module, expression.id)
        if isinstance(expression, ast.Subscript):  # Generic[T]
            return self.expression(module, expression.value)
        if isinstance(expression, ast.Attribute):
            inner = self.expression(module, expression.value)
            if isinstance(inner, Library):
                return Library(f"{inner.dotted}.{expression.attr}")
            if isinstance(inner, Module):
                return self.member(inner, expression.attr)
        return None

    def methods(self, cls: Class) -> dict[str, Code]:
        """The functions in a class body, by name."""
        known = self._methods.get(cls)
        if known is None:
            known = self._methods[cls] = {}
            for statement in _executed(cls.node.body):
                if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    code = cls.module.codes.get(statement)
                    if code is not None and not code.decorated("setter", "deleter"):
                        known[statement.name] = code
        return known

    def method(self, cls: Class, name: str, *, after: Class | None = None) -> Code | None:
        """A method by the resolution order; with `after`, what `super()` inside that class means."""
        order = self.order(cls)
        if after is not None and after in order:
            order = order[order.index(after) + 1 :]
        for owner in order:
            if isinstance(owner, Class) and name in self.methods(owner):
                return self.methods(owner)[name]
        return None

    def library_base(self, cls: Class) -> str:
        """The first class of a library among the ancestors, or nothing."""
        return next((base for base in self.order(cls) if isinstance(base, str)), "")

    def subclasses(self, cls: Class) -> list[Class]:
        """The scanned classes that inherit from a class, directly or not."""
        if self._subclasses is None:
            self._subclasses = {}
            for module in self.project.scanned.values():
                for other in module.classes.values():
                    for base in self.order(other)[1:]:
                        if isinstance(base, Class):
                            self._subclasses.setdefault(base.id, []).append(other)
        return self._subclasses.get(cls.id, [])


def _executed(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that may run when a body is loaded."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _executed(statement.orelse)
            yield from _executed(statement.body)
        elif isinstance(statement, ast.Try):
            for part in ([s for h in statement.handlers for s in h.body], statement.body, statement.orelse):
                yield from _executed(part)
        elif isinstance(statement, ast.With):
            yield from _executed(statement.body)
        else:
            yield statement
