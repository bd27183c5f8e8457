"""Strop compiles PyTorch and ONNX models to native CPU code, and finds and fixes what is slow in their sources.

    fast = strop.compile(model, (x,))             # an nn.Module in, an nn.Module out
    run = strop.compile("model.onnx")             # an ONNX file: run({"x": array})
    fast = strop.compile(model, (x,), training=True)  # forward and backward
    opt = strop.fuse_optimizer(opt)               # Adam, AdamW or SGD: its step is one native pass
    fast = torch.compile(model, backend="strop")  # registered with torch, no import needed
    run = strop.load("model.strop")               # a file that `strop compile -o` wrote: needs neither torch nor LLVM
    found = strop.scan("src")                     # what could run as a graph, and why not: .functions, .findings

Importing this package imports neither torch nor LLVM; the first use of a name does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from strop.core.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from onnx import ModelProto
    from torch import Tensor, nn

    from strop import extend
    from strop.core.journal import Journal
    from strop.core.options import Options
    from strop.core.problem import Problem
    from strop.deploy.loaded_model import load
    from strop.kernels.optimizers import fuse_optimizer
    from strop.session import Session
    from strop.source.facts import Scan

__all__ = ["Options", "Problem", "Session", "__version__", "compile", "extend", "fuse_optimizer", "load", "scan"]

_MODULES = ("extend",)
_HOMES = {
    "Options": "strop.core.options",
    "Problem": "strop.core.problem",
    "Session": "strop.session",
    "fuse_optimizer": "strop.kernels.optimizers",
    "load": "strop.deploy.loaded_model",
}


def compile(
    model: nn.Module | str | PathLike[str] | ModelProto,
    args: Sequence[Any] | Tensor = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    partial: bool = False,
    training: bool = False,
    options: Options | None = None,
    journal: Journal | None = None,
    **settings: Any,
) -> nn.Module:
    """A module that computes what `model` computes, natively, on the same parameters.

    `args` and `kwargs` are example inputs: their shapes and dtypes decide the code, their values do not matter. Single
    settings (`threads=2`, `pack=False`, …: the fields of `strop.Options`) may be given in place of `options`; what is
    not given comes from the environment. A model that cannot be exported raises a `strop.Problem` that names the line;
    with `partial=True`, Dynamo splits it instead and the pieces are compiled.

    With `training=True`, calls that need gradients are compiled as well, forward and backward; `memory` ("fastest",
    "balanced" or a number of bytes) decides what is kept between the two.

    The model may be the path of an ONNX file, or its content. The result is then also callable by name,
    `run({"x": array})`; its first variant is compiled at once if `args`, `shapes` (`{"x": (1, 3, 224, 224)}`) or the
    file itself tell the shapes of its inputs, else at the first call.
    """
    from strop.core.options import Options
    from strop.runtime.compile_model import compile as compile_module

    options = Options.given(options, **settings)
    return compile_module(
        model, args, kwargs, shapes=shapes, partial=partial, training=training, options=options, journal=journal
    )


def scan(*paths: str | PathLike[str], cache: bool | None = None, **settings: Any) -> Scan:
    """What `strop scan` finds in files and folders, without importing or running them.

    Settings (`speculate=False`, `exclude=("vendored",)`, …: the fields of `source.project.settings.Settings`) go before
    those of the project's pyproject.toml.
    """
    from os import fspath

    from strop.core.cache import Cache
    from strop.core.options import Options
    from strop.source.project.settings import Settings
    from strop.source.scan_project import scan_project

    names = [fspath(path) for path in paths]
    told: dict[str, Any] = {} if cache is None else {"cache": cache}
    kept = Options.from_environment(**told).cache
    return scan_project(names, Settings.of(names, **settings), cache=Cache() if kept else None)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"strop.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module `strop` has no attribute `{name}`")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
