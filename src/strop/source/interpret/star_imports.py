"""`from x import *`: which variable a name means that such an import may have brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strop.source.interpret.activation import BUILTINS
from strop.source.interpret.heap import Cell
from strop.source.interpret.values import library
from strop.source.project.declarations import Module

if TYPE_CHECKING:
    from strop.source.interpret.interpreter import Program


class StarImports:
    """The star imports of every module of a program: modules of the project, and names of libraries."""

    def __init__(self) -> None:
        self._sources: dict[Module, list[Module | str]] = {}
        self._cells: dict[tuple[Module, str], Cell | None] = {}

    def add(self, module: Module, source: Module | str) -> None:
        """`module` imports everything of `source`."""
        sources = self._sources.setdefault(module, [])
        if source not in sources:
            sources.append(source)
            self._cells.clear()

    def find(self, program: Program, module: Module, name: str) -> Cell | None:
        """The variable that a star import brings to a module under this name."""
        if module not in self._sources:
            return None
        key = module, name
        if key not in self._cells:
            self._cells[key] = None  # against circles
            self._cells[key] = self._found(program, module, name)
        return self._cells[key]

    def _found(self, program: Program, module: Module, name: str) -> Cell | None:
        apis, sources = program.apis, self._sources[module]
        for source in reversed(sources):
            if isinstance(source, Module):
                if name in source.code.locals and not name.startswith("_"):
                    program.late.do(program.module_frame(source), name)
                    return program.module_frame(source).cells.setdefault(name, Cell())
                if (cell := self.find(program, source, name)) is not None:
                    return cell
                continue
            dotted = apis.canonical(f"{source}.{name}")
            if dotted in apis.functions or dotted in apis.classes or dotted in apis.values:
                return Cell(library(dotted).value)
        strangers = [source for source in sources if isinstance(source, str)]
        if strangers and name not in BUILTINS:
            return Cell(library(apis.canonical(f"{strangers[-1]}.{name}")).value)
        return None
