"""Import statements: which module is meant, and what the names stand for."""

from __future__ import annotations

import ast

from strop.source.interpret.expressions import Expressions
from strop.source.interpret.values import Value, library, module_of, unknown
from strop.source.project.declarations import Module


class ImportStatements(Expressions):
    """The statements that import."""

    def import_names(self, node: ast.Import | ast.ImportFrom) -> None:
        if not self.is_module:
            self.note(node, "other", "import", None)
        for alias in node.names:
            name = alias.asname or (alias.name if isinstance(node, ast.ImportFrom) else alias.name.partition(".")[0])
            late = self.is_module and self.code.module.installed and name != "*"
            if not late or not self.program.late.put_off(self.code.module, name, node, alias):
                self.import_alias(node, alias)

    def import_alias(self, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> None:
        """One name of an import statement."""
        if isinstance(node, ast.ImportFrom):
            self._import_from(node, alias)
            return
        first = alias.name.partition(".")[0]
        module = self.program.find_module(self.code.module, alias.name)
        if alias.asname is not None:
            self.store(alias.asname, self._module(module, alias.name), node)
            return
        top = module if module is not None and first == alias.name else None
        top = top or self.program.find_module(self.code.module, first)
        self.store(first, self._module(top, first), node)

    def _module(self, module: Module | None, dotted: str) -> Value:
        return module_of(module) if module is not None else library(self.apis.canonical(dotted)).value

    def _import_from(self, node: ast.ImportFrom, alias: ast.alias) -> None:
        if node.module == "__future__":
            return
        importer = self.code.module
        dotted = node.module or ""
        if node.level:
            module = self.program.relative_module(importer, node.level, dotted)
        else:
            module = self.program.find_module(importer, dotted)
        if alias.name == "*":
            self.program.stars.add(importer, module if module is not None else dotted)
            return
        self.store(alias.asname or alias.name, self._imported(module, node.level, dotted, alias.name), node)

    def _imported(self, module: Module | None, level: int, dotted: str, name: str) -> Value:
        if module is not None:
            return self.attribute(module_of(module), name, self.code.node)
        if level:
            sub = self.program.relative_module(self.code.module, level, f"{dotted}.{name}" if dotted else name)
            return module_of(sub) if sub is not None else unknown(f"`{name}` of a module that was not found")
        return self._imported_library(dotted, name)

    def _imported_library(self, dotted: str, name: str) -> Value:
        return self.attribute(library(self.apis.canonical(dotted)).value, name, self.code.node)
