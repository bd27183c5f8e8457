"""An unpacked package can be imported: what it imports and is not installed is replaced by stand-ins that do nothing."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

#: what is never replaced, even where a package asks for a part of it that does not exist
_REAL = ("tensorflow", "numpy")


class _Nothing(type):
    """Takes every attribute, call, base class and decorator."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name not in ("__version__",):
            raise AttributeError(name)
        return "0.0" if name == "__version__" else StandIn

    def __iter__(cls) -> Iterator[Any]:
        return iter(())


class StandIn(metaclass=_Nothing):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()


class _Module(ModuleType):
    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        return "99.0" if name == "__version__" else StandIn


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, own: set[str]) -> None:
        self.own = own

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        top = name.partition(".")[0]
        if top in self.own or top in _REAL or top in sys.stdlib_module_names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


class _Protocols(_Finder):
    """Modules that protobuf generated: the package's own would need its own version of protobuf."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.endswith("_pb2") and name.partition(".")[0] in self.own:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None


@contextlib.contextmanager
def standing_in(folder: Path) -> Iterator[None]:
    """The package can be imported; modules that are missing do nothing."""
    before, path = set(sys.modules), list(sys.path)
    own = {entry.stem for entry in folder.iterdir()}
    finder = _Finder(own)
    sys.path.insert(0, str(folder))
    protocols = _Protocols(own)
    sys.meta_path.insert(0, protocols)
    sys.meta_path.append(finder)
    here = Path.cwd()
    try:
        yield
    finally:
        os.chdir(here)
        sys.meta_path.remove(finder)
        sys.meta_path.remove(protocols)
        sys.path[:] = path
        for name in set(sys.modules) - before:
            if name.partition(".")[0] in own:
                del sys.modules[name]
