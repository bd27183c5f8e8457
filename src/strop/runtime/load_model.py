"""From what a person wrote (`package.module:factory`, `net.py:factory`, a name of the zoo) to a model with inputs."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from strop import zoo
from strop.core.extensions import registry
from strop.core.problem import Problem
from strop.runtime.onnx.spec import onnx_file, require_onnx

_FORM = "write `package.module:factory` or `path/to/file.py:factory`"


@dataclass(frozen=True)
class Model:
    """A module with example inputs, ready to be compiled."""

    name: str
    module: torch.nn.Module
    inputs: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


def runs_code(spec: str) -> bool:
    """Whether making the model that `spec` names runs code which it names: a factory's, and that of its module."""
    return not onnx_file(spec)[0] and _is_factory(spec)


def _is_factory(spec: str) -> bool:
    return ":" in spec or spec.endswith(".py") or "/" in spec


def load(spec: str) -> Model:
    """The model that `spec` names: an ONNX file (`net.onnx`, `net.onnx[x=1,3,224,224]`), a factory, or a network of
    the zoo."""
    path, shapes = onnx_file(spec)
    if path:
        require_onnx()
        registry.load()  # operators of the file may be theirs
        from strop.runtime.onnx.model import loaded

        return Model(Path(path).stem, *loaded(path, shapes))
    if _is_factory(spec):
        return Model(spec.rpartition(":")[2], *load_factory(spec))
    return Model(zoo.canonical(spec), *zoo.load(spec))


def load_factory(spec: str) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    """What the factory that `spec` names returns: the module, its example inputs, its keyword arguments."""
    place, _, name = spec.rpartition(":")
    if not place or not name.isidentifier():
        raise Problem("STR002", f"`{spec}` is not the name of a factory", help=_FORM)
    factory = _factory(_module(place), name, spec)
    try:
        made = factory()
    except Exception as error:
        raise Problem(
            "STR003",
            f"the factory `{spec}` raised {type(error).__name__}: {error}",
            where=_last_line(error),
            help="a factory takes no arguments; call it in Python to see the whole traceback, or use `strop --debug`",
        ) from error
    return _unpack(made, spec)


def _module(place: str) -> ModuleType:
    if not place.endswith(".py"):
        if "" not in sys.path and str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))  # a console script does not look into the current directory
        return _imported(place, lambda: importlib.import_module(place))
    path = Path(place).expanduser().resolve()
    if not path.is_file():
        raise Problem("STR002", f"there is no file `{place}`", help=_FORM)
    return _imported(place, lambda: _from_file(path))


def _from_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))  # as `python file.py` does, so that it can import its neighbours
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


def _imported(place: str, run: Callable[[], ModuleType]) -> ModuleType:
    try:
        return run()
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(f"{error.name}.")):
            raise Problem("STR002", f"there is no module `{error.name}`", help=_FORM) from error
        message = f"`{place}` needs the module `{error.name}`, which is not installed"
        raise Problem("STR002", message, where=_last_line(error)) from error
    except Exception as error:
        message = f"`{place}` cannot be imported: {type(error).__name__}: {error}"
        raise Problem("STR002", message, where=_last_line(error)) from error


def _factory(module: ModuleType, name: str, spec: str) -> Callable[[], Any]:
    found = getattr(module, name, None)
    if found is None:
        names = [
            n for n, v in vars(module).items() if callable(v) and not n.startswith("_") and not isinstance(v, type)
        ]
        known = f"it defines: {', '.join(names[:8])}" if names else _FORM
        raise Problem("STR002", f"`{spec}`: there is no `{name}`", where=module.__file__ or "", help=known)
    if not callable(found):
        raise Problem("STR002", f"`{spec}` is a {type(found).__name__}, not a function", help=_FORM)
    factory: Callable[[], Any] = found
    return factory


def _unpack(made: object, spec: str) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    form = "return `(module, inputs)` or `(module, inputs, kwargs)`"
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        told = f"a tuple of {len(made)}" if isinstance(made, tuple) else type(made).__name__
        raise Problem("STR003", f"`{spec}` returned {told}", help=form)
    module, inputs, kwargs = made if len(made) == 3 else (*made, {})
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    for what, value, kind in (
        ("module", module, torch.nn.Module),
        ("inputs", inputs, (tuple, list)),
        ("kwargs", kwargs, dict),
    ):
        if not isinstance(value, kind):
            raise Problem("STR003", f"`{spec}` returned a {type(value).__name__} as its {what}", help=form)
    return module, tuple(inputs), kwargs


def _last_line(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
