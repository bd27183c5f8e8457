"""Library calls that data cannot describe: they look at names, types, structure, or at the interpreter itself.

One file per family; importing this package registers the handlers of all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from strop.source.interpret.activation import CallArguments
from strop.source.interpret.values import Atom, Value

if TYPE_CHECKING:
    from strop.source.interpret.calls import Calls

ApiHandler = Callable[["Calls", CallArguments, ast.AST, "Atom | None"], Value]
API_HANDLERS: dict[str, ApiHandler] = {}


def api_handler(*names: str) -> Callable[[ApiHandler], ApiHandler]:
    """Register the handler of library functions with these names."""

    def register(handler: ApiHandler) -> ApiHandler:
        for name in names:
            API_HANDLERS[name] = handler
        return handler

    return register


for _family in ("classes", "containers", "functions"):
    import_module(f"{__name__}.{_family}")
