"""Imports of installed packages wait until somebody reads the name.

A package imports all of its models, and a program uses one of them: what nobody uses is never read.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Union

from strop.source.interpret.heap import Frame
from strop.source.project.declarations import Module

if TYPE_CHECKING:
    from strop.source.interpret.interpreter import Program

ImportNode = Union[ast.Import, ast.ImportFrom]


class LateImports:
    """The imports of a program that have been put off, and those that have been done since."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._waiting: dict[tuple[Module, str], tuple[ImportNode, ast.alias]] = {}
        self._done: set[tuple[Module, str]] = set()

    def put_off(self, module: Module, name: str, node: ImportNode, alias: ast.alias) -> bool:
        """Remember how a module gets a name; False when the name has been read, so that the import is due."""
        self._waiting.setdefault((module, name), (node, alias))
        return (module, name) not in self._done

    def do(self, frame: Frame, name: str) -> None:
        """Do the import that a variable of a module waits for, as the module itself would."""
        from strop.source.interpret.imports import ImportStatements

        key = frame.code.module, name
        if key in self._waiting and key not in self._done:
            self._done.add(key)
            ImportStatements(self.program, self.program.module_node(key[0])).import_alias(*self._waiting[key])
