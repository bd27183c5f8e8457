"""An unpacked package can be imported: what it imports and is not installed is replaced by stand-ins that do nothing."""

from __future__ import annotations

import contextlib
import importlib
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


class _Operators:
    """Whatever is computed with a stand-in is one."""

    def __add__(self, other: Any) -> Any:
        return StandIn()

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __matmul__ = __or__ = __add__


class _Nothing(_Operators, type):
    """Takes every attribute, call, base class and decorator."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name not in ("__version__",):
            raise AttributeError(name)
        return "0.0" if name == "__version__" else StandIn

    def __iter__(cls) -> Iterator[Any]:
        return iter(())


class StandIn(_Operators, metaclass=_Nothing):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __getitem__(self, key: Any) -> Any:
        return StandIn()

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
        if top in self.own or top in _REAL or top in sys.stdlib_module_names or not self._is_asked_by_package():
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def _is_asked_by_package(self) -> bool:
        """Installed libraries try imports as well, and know what to do without."""
        frame = sys._getframe(2)
        while frame is not None and frame.f_globals.get("__name__", "").startswith("importlib"):
            frame = frame.f_back  # type: ignore[assignment]
        return frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in self.own

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


def imported(name: str) -> ModuleType:
    """A module; where the packages around it do not come up, without what their `__init__.py` does."""
    try:
        return importlib.import_module(name)
    except Exception:
        parts = name.split(".")
        for count in range(1, len(parts)):
            parent = ".".join(parts[:count])
            if parent not in sys.modules:
                bare = ModuleType(parent)
                bare.__path__ = [str(Path(sys.path[0], *parts[:count]))]
                sys.modules[parent] = bare
        return importlib.import_module(name)


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
            if name.partition(".")[0] in own or isinstance(sys.modules[name], _Module):
                del sys.modules[name]
